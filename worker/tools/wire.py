"""The lines between a worker and its tool host: JSON, one object a line (pure).

To the host:    {"id", "tool", "args"}   {"abort": id}   {"sweep": id}
From the host:  {"ready": true}   {"id", "update"}   {"id", "result": {"text", "is_error", ...}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from worker.tools import ToolError, ToolResult

MAX_REQUEST_BYTES = 32 * 1024 * 1024
MAX_LINE_BYTES = 64 * 1024 * 1024
"""Longest line that either side accepts."""


@dataclass(frozen=True, slots=True)
class Request:
    """Run a tool."""

    id: str
    tool: str
    args: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Abort:
    """Stop that call; its result still comes."""

    id: str


@dataclass(frozen=True, slots=True)
class Sweep:
    """End what earlier calls left running; answered by a result."""

    id: str


@dataclass(frozen=True, slots=True)
class Ready:
    """The host takes requests."""


@dataclass(frozen=True, slots=True)
class Update:
    """A snapshot of a call's output so far."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Result:
    """The end of a call."""

    id: str
    result: ToolResult


def encode_request(request: Request) -> bytes:
    """`{"id": "1", "tool": "bash", "args": {...}}`; ToolError if it is too long for one line."""
    line = _line(asdict(request))
    if len(line) > MAX_REQUEST_BYTES:
        raise ToolError(f"the call has {len(line)} bytes, more than {MAX_REQUEST_BYTES}; split it")
    return line


def encode_abort(abort: Abort) -> bytes:
    """`{"abort": "1"}`"""
    return _line({"abort": abort.id})


def encode_sweep(sweep: Sweep) -> bytes:
    """`{"sweep": "1"}`"""
    return _line({"sweep": sweep.id})


def encode_answer(answer: Ready | Update | Result) -> bytes:
    """`{"ready": true}`, `{"id": "1", "update": "..."}` or `{"id": "1", "result": {...}}`"""
    match answer:
        case Ready():
            return _line({"ready": True})
        case Update(call_id, text):
            return _line({"id": call_id, "update": text})
        case Result(call_id, result):
            return _line({"id": call_id, "result": asdict(result)})


def decode_request(line: bytes) -> Request | Abort | Sweep:
    """What a worker sent; ValueError, KeyError or TypeError if it is not of this protocol."""
    message = json.loads(line)
    if "abort" in message:
        return Abort(str(message["abort"]))
    if "sweep" in message:
        return Sweep(str(message["sweep"]))
    return Request(str(message["id"]), str(message["tool"]), dict(message["args"]))


def decode_answer(line: bytes) -> Ready | Update | Result:
    """What a host sent; ValueError, KeyError or TypeError if it is not of this protocol."""
    message = json.loads(line)
    if "ready" in message:
        return Ready()
    if "update" in message:
        return Update(str(message["id"]), str(message["update"]))
    return Result(str(message["id"]), ToolResult(**message["result"]))


def _line(message: Mapping[str, object]) -> bytes:
    # ASCII escapes keep a lone surrogate intact, so that the tool itself can name it in its error
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"
