"""The conversation on disk: one JSON object a line, only ever appended to.

The first record is what every request starts with (system prompt, tool list, fence, model), so that
a resumed conversation sends the same bytes. A last line that a crash cut off is dropped.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from worker.agent.errors import MessageFormatError, TranscriptError
from worker.agent.message_codec import message_from_json, message_to_json
from worker.tools import ToolSpec

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from worker.agent.messages import Message

VERSION = 1


@dataclass(frozen=True, slots=True)
class Header:
    """What a conversation was begun with and keeps to its end."""

    system: str
    tools: tuple[ToolSpec, ...]
    fence: str
    """The random mark around other people's text, unguessable for them."""
    model: str

    def continues_with(self, model: str, tools: Iterable[ToolSpec]) -> bool:
        """False: thinking and cache would not fit, so a new transcript is due."""
        return self.model == model and _tools_to_json(self.tools) == _tools_to_json(tools)


class Transcript:
    """An open transcript. Calls block for the disk: use a thread from an event loop."""

    def __init__(self, path: Path, header: Header, messages: tuple[Message, ...]) -> None:
        self.path = path
        self.header = header
        self.messages = messages
        """What was there when it was opened."""
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    @classmethod
    def create(cls, path: Path, header: Header) -> Transcript:
        """Begin anew, in place of what may be there."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            transcript = cls(path, header, ())
        except OSError as error:
            raise TranscriptError(f"cannot create the transcript {path}: {error}") from error
        transcript._write({"type": "header", "version": VERSION, **_header_to_json(header)})
        transcript.sync()
        return transcript

    @classmethod
    def load(cls, path: Path) -> Transcript | None:
        """Go on with what is there; None when there is nothing to go on with."""
        try:
            whole, cut, _ = _read(path).rpartition(b"\n")
            if not cut:
                return None
            header, *messages = [_record(line, n) for n, line in enumerate(whole.split(b"\n"), 1)]
            os.truncate(path, len(whole) + 1)
            return cls(path, _header(header), tuple(_message(item) for item in messages))
        except (MessageFormatError, ValueError, KeyError, TypeError) as error:
            raise TranscriptError(f"the transcript {path} cannot be read: {error}") from error
        except OSError as error:
            raise TranscriptError(f"cannot open the transcript {path}: {error}") from error

    def append(self, message: Message) -> None:
        self._write({"type": "message", **message_to_json(message)})

    def sync(self) -> None:
        """Return when all that was appended has reached the disk."""
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise TranscriptError(f"cannot write the transcript {self.path}: {error}") from error

    def close(self) -> None:
        os.close(self._fd)

    def _write(self, record: dict[str, Any]) -> None:
        # ASCII only: lone surrogates of a model or a file survive, and no character splits a line.
        data = json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError as error:
            raise TranscriptError(f"cannot write the transcript {self.path}: {error}") from error


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _record(line: bytes, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise ValueError(f"line {number} is not JSON") from error
    if not isinstance(record, dict):
        raise TypeError(f"line {number} is not an object")
    return record


def _message(record: dict[str, Any]) -> Message:
    return message_from_json({key: value for key, value in record.items() if key != "type"})


def _header_to_json(header: Header) -> dict[str, Any]:
    return {
        "system": header.system,
        "tools": _tools_to_json(header.tools),
        "fence": header.fence,
        "model": header.model,
    }


def _tools_to_json(tools: Iterable[ToolSpec]) -> list[dict[str, Any]]:
    return [json.loads(json.dumps(asdict(tool))) for tool in tools]


def _header(record: dict[str, Any]) -> Header:
    if record.get("type") != "header" or record.get("version") != VERSION:
        raise ValueError(f"it does not begin with a header of version {VERSION}")
    tools = tuple(ToolSpec(**tool) for tool in record["tools"])
    return Header(record["system"], tools, record["fence"], record["model"])
