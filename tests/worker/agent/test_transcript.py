"""The conversation on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.model import call, calls, says
from worker.agent.errors import TranscriptError
from worker.agent.messages import ToolResultMessage, UserMessage
from worker.agent.transcript import Header, Transcript
from worker.tools import ToolSpec

HEADER = Header("system", (ToolSpec("run", "Runs.", {"type": "object"}),), "f3nce", "claude")
LOG = (
    UserMessage("a\ud83d \u2028 \n b", "id"),
    calls(call("run")),
    ToolResultMessage("c", "r", "ok"),
)


def written(path: Path) -> Path:
    transcript = Transcript.create(path, HEADER)
    for message in LOG:
        transcript.append(message)
    transcript.sync()
    transcript.close()
    return path


def loaded(path: Path) -> Transcript:
    transcript = Transcript.load(path)
    assert transcript is not None
    return transcript


def test_what_was_written_is_loaded_again(tmp_path: Path) -> None:
    transcript = loaded(written(tmp_path / "state" / "log.jsonl"))
    assert (transcript.header, transcript.messages) == (HEADER, LOG)
    transcript.close()


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    assert written(tmp_path / "log.jsonl").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kept", [0.2, 0.99])
def test_a_last_line_that_was_cut_off_is_dropped_and_written_over(
    tmp_path: Path, kept: float
) -> None:
    path = written(tmp_path / "log.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][: int(len(lines[-1]) * kept)])
    transcript = loaded(path)
    assert transcript.messages == LOG[:-1]
    transcript.append(says("next"))
    transcript.close()
    again = loaded(path)
    assert again.messages == (*LOG[:-1], says("next"))
    again.close()


@pytest.mark.parametrize("data", [None, b"", b'{"type":"header","sys'])
def test_nothing_to_go_on_with_is_none(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / "log.jsonl"
    if data is not None:
        path.write_bytes(data)
    assert Transcript.load(path) is None


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"type":"message"}\n', "does not begin with a header"),
        (b"hello\n", "line 1 is not JSON"),
        (b"[]\n", "line 1 is not an object"),
        (b"\xff\n", "line 1 is not JSON"),
    ],
)
def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(data)
    with pytest.raises(TranscriptError, match=f"{path} cannot be read: .*{reason}"):
        Transcript.load(path)


def test_a_damaged_line_in_the_middle_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path / "log.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"{}\n", *lines[1:]]))
    with pytest.raises(TranscriptError, match="not a stored message"):
        Transcript.load(path)


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TranscriptError, match="cannot create the transcript"):
        Transcript.create(tmp_path / "file" / "log.jsonl", HEADER)


def test_a_conversation_goes_on_only_with_the_same_model_and_tools(tmp_path: Path) -> None:
    transcript = loaded(written(tmp_path / "log.jsonl"))
    transcript.close()
    header = transcript.header
    assert header.continues_with("claude", HEADER.tools)
    assert not header.continues_with("other", HEADER.tools)
    assert not header.continues_with("claude", ())
