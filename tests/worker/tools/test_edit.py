from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path

import pytest

from tests.support.tool_calls import Call, run_now
from worker.agent.schema import Valid, check_arguments
from worker.tools import ToolError, ToolResult
from worker.tools.edit import EditTool
from worker.tools.files import FileLocks


def pair(old: str, new: str) -> dict[str, str]:
    return {"old": old, "new": new}


def run_edit(path: Path, args: dict[str, object], call: Call | None = None) -> ToolResult:
    tool = EditTool(path.parent, FileLocks())
    return run_now(tool.run({"path": path.name, **args}, (call or Call()).context()))


def edit(path: Path, *edits: dict[str, str]) -> ToolResult:
    return run_edit(path, {"edits": list(edits)})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.txt"


def test_t34_one_hit_is_replaced_and_shown_as_a_numbered_diff(path: Path) -> None:
    path.write_text("".join(f"line {n}\n" for n in range(1, 21)))
    result = edit(path, pair("line 10\n", "ten\nand a half\n"))
    assert result == ToolResult(
        f"Made 1 replacement in {path}",
        details={
            "first_changed_line": 10,
            "diff": "\n".join(
                [
                    " 6 line 6",
                    " 7 line 7",
                    " 8 line 8",
                    " 9 line 9",
                    "-10 line 10",
                    "+10 ten",
                    "+11 and a half",
                    " 12 line 11",
                    " 13 line 12",
                    " 14 line 13",
                    " 15 line 14",
                ]
            ),
        },
    )


@pytest.mark.parametrize(
    ("content", "edits", "message"),
    [
        pytest.param("abc", [pair("x", "y")], "edits[0]: old was not found", id="T35"),
        pytest.param(
            "a\nb\na\n",
            [pair("a", "x")],
            "edits[0]: old was found 2 times (lines 1, 3); add lines around it until it is there"
            " once",
            id="T36",
        ),
        pytest.param("aaa", [pair("aa", "x")], "found 2 times", id="T36 overlapping hits"),
        pytest.param("abc", [pair("", "y")], "edits[0]: old is empty", id="T37"),
        pytest.param("abc", [pair("b", "b")], "edits[0]: old and new are the same", id="T38"),
        pytest.param(
            "abc", [pair("a", "1"), pair("x", "2")], "edits[1]: old was not found", id="T40"
        ),
        pytest.param(
            "abcd",
            [pair("bcd", "1"), pair("abc", "2")],
            "edits[0] and edits[1] overlap; merge them into one edit",
            id="T41",
        ),
        pytest.param("abc", [], "edits: none given", id="T42"),
        pytest.param("a\n", [pair(" ", "x")], "old was not found", id="blanks only"),
        pytest.param("x = 10\n", [pair("x = 1 ", "y")], "old was not found", id="half a line"),
        pytest.param(
            "\u201ca\u201d \u201ca\u201d", [pair('"a"', "y")], "2 times", id="fuzzy twice"
        ),
        pytest.param("a\r\n", [pair("a\n", "a\r\n")], "would not change", id="same bytes"),
    ],
)
def test_a_refused_edit_says_why_and_changes_nothing(
    path: Path, content: str, edits: list[dict[str, str]], message: str
) -> None:
    path.write_bytes(content.encode())
    with pytest.raises(ToolError, match=re.escape(message)):
        edit(path, *edits)
    assert path.read_bytes() == content.encode()


@pytest.mark.parametrize(
    ("before", "edits", "after"),
    [
        pytest.param(
            "one two three",
            [pair("three", "3"), pair("one", "1111"), pair("two", "")],
            "1111  3",
            id="T39",
        ),
        pytest.param("a b", [pair("a", "b b"), pair("b", "c")], "b b c", id="T43"),
        pytest.param(
            "a\r\nb\r\nc\r\n", [pair("a\nb", "x\ny\nz")], "x\r\ny\r\nz\r\nc\r\n", id="T45"
        ),
        pytest.param(
            "a\r\nb\nc\r\nd\n", [pair("c\n", "x\ny\n")], "a\r\nb\nx\r\ny\r\nd\n", id="T46 CRLF"
        ),
        pytest.param("a\r\nb\nc\r\n", [pair("b", "x\ny")], "a\r\nx\ny\nc\r\n", id="T46 LF"),
        pytest.param("a\r\nb", [pair("b", "x\ny")], "a\r\nx\r\ny", id="T46 last line"),
        pytest.param("a\rb\rc\r", [pair("b\nc", "x\ny")], "a\rx\ry\r", id="T47"),
        pytest.param("a\rb\nc", [pair("a\rb", "x")], "x\nc", id="T47 CR within LF text"),
        pytest.param("\ufeffa\nb", [pair("a", "x")], "\ufeffx\nb", id="T48"),
        pytest.param("\ufeffa\nb", [pair("\ufeffa", "\ufeffx")], "\ufeffx\nb", id="T48 copied"),
        pytest.param(
            "keep \u201cthis\u201d  \nsay \u201chi\u201d \u2014 now  \nend",
            [pair('say "hi" - now', "done")],
            "keep \u201cthis\u201d  \ndone\nend",
            id="T50",
        ),
        pytest.param(
            "caf\u0065\u0301 \ufb01n\n", [pair("caf\u00e9 fin", "tea")], "tea\n", id="T50 NFKC"
        ),
        pytest.param("\u201ca\u201d b \u2014 c", [pair('"a"', "x")], "x b \u2014 c", id="T50 part"),
        pytest.param("if a:  \n\tb \nc\n", [pair("if a:\n\tb\n", "x\n")], "x\nc\n", id="T51"),
        pytest.param("a\nb\n", [pair("a \nb  ", "x")], "x\n", id="T51 in old text"),
        pytest.param("a\r\nb \r\n", [pair("a\nb\n", "x\ny\n")], "x\r\ny\r\n", id="T51 CRLF"),
        pytest.param(
            "\u2019 x \nfoo\n\u2019 y ",
            [pair("foo", "bar")],
            "\u2019 x \nbar\n\u2019 y ",
            id="T53 exact",
        ),
        pytest.param(
            "\u2019 x \nfoo\n\u2019 y ",
            [pair("foo", "bar"), pair("' x\n", "z\n")],
            "z\nbar\n\u2019 y ",
            id="T53 one fuzzy",
        ),
        pytest.param("a", [pair("a", r"$& \1 \n")], r"$& \1 \n", id="T56"),
        pytest.param("a\0\x0cb\u2028c", [pair("b", "x")], "a\0\x0cx\u2028c", id="control signs"),
    ],
)
def test_edits_change_their_span_and_no_other_byte(
    path: Path, before: str, edits: list[dict[str, str]], after: str
) -> None:
    path.write_bytes(before.encode())
    edit(path, *edits)
    assert path.read_bytes() == after.encode()


@pytest.mark.parametrize(
    "args",
    [
        pytest.param({"edits": json.dumps([pair("a", "b")])}, id="JSON string"),
        pytest.param({"edits": json.dumps(pair("a", "b"))}, id="JSON object"),
        pytest.param({"edits": pair("a", "b")}, id="one object"),
        pytest.param({"old": "a", "new": "b"}, id="pair at the top"),
        pytest.param({"oldText": "a", "newText": "b"}, id="older names"),
        pytest.param({"old_string": "a", "new_string": "b"}, id="other agents' names"),
        pytest.param({"edits": [{**pair("a", "b"), "reason": "x"}], "note": 1}, id="extra fields"),
    ],
)
def test_t44_shapes_that_models_send_are_taken_by_the_loop_and_the_tool(
    path: Path, args: dict[str, object]
) -> None:
    path.write_text("a")
    checked = check_arguments(EditTool.spec.input_schema, {"path": path.name, **args})
    assert isinstance(checked, Valid)
    run_edit(path, dict(checked.args))
    assert path.read_text() == "b"
    run_edit(path, args | {"edits": [pair("b", "a")]})
    run_edit(path, args)
    assert path.read_text() == "b"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param({}, "edits: a list", id="none"),
        pytest.param({"edits": "nonsense"}, "not a list and not JSON", id="not JSON"),
        pytest.param({"edits": ["a"]}, "edits[0]: an object", id="not an object"),
        pytest.param({"edits": [{"old": "a"}]}, "edits[0]: old and new must both", id="no new"),
        pytest.param({"edits": [pair("a", "\ud800")]}, "surrogate", id="lone surrogate"),
    ],
)
def test_malformed_edits_are_a_clear_error(
    path: Path, args: dict[str, object], message: str
) -> None:
    path.write_text("a")
    with pytest.raises(ToolError, match=re.escape(message)):
        run_edit(path, args)
    assert path.read_text() == "a"


def test_t54_a_read_only_file_is_refused(ordinary_folder: Path) -> None:
    path = ordinary_folder / "a"
    path.write_text("a")
    path.chmod(0o444)
    with pytest.raises(ToolError, match="EACCES"):
        edit(path, pair("a", "b"))


def test_t55_a_missing_file_is_a_clear_error(path: Path) -> None:
    with pytest.raises(ToolError, match="ENOENT"):
        edit(path, pair("a", "b"))


def test_t57_a_file_that_is_not_utf8_is_refused(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbfa\ncaf\xe9\n")
    with pytest.raises(ToolError, match=r"not valid UTF-8 \(byte 0xe9 at 8\)"):
        edit(path, pair("a", "b"))
    assert path.read_bytes() == b"\xef\xbb\xbfa\ncaf\xe9\n"


def test_t58_parallel_edits_of_one_file_all_land(path: Path) -> None:
    path.write_text("".join(f"<{n}>\n" for n in range(20)))
    tool = EditTool(path.parent, FileLocks())

    async def edit_all() -> None:
        async with asyncio.TaskGroup() as group:
            for n in range(20):
                args = {"path": "a.txt", "edits": [pair(f"<{n}>", f"[{n}]")]}
                group.create_task(tool.run(args, Call().context()))

    run_now(edit_all())
    assert path.read_text() == "".join(f"[{n}]\n" for n in range(20))


def test_folders_and_pipes_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, message in (("pipe", "not a regular file"), ("folder", "EISDIR")):
        with pytest.raises(ToolError, match=message):
            edit(tmp_path / name, pair("a", "b"))


def test_an_aborted_edit_changes_nothing(path: Path) -> None:
    path.write_text("a")
    call = Call()
    call.aborted.set()
    with pytest.raises(ToolError, match="aborted"):
        run_edit(path, {"edits": [pair("a", "b")]}, call)
    assert path.read_text() == "a"


def test_changes_far_apart_are_shown_as_two_pieces(path: Path) -> None:
    path.write_text("".join(f"{n}\n" for n in range(1, 41)))
    result = edit(path, pair("\n3\n", "\nthree\n"), pair("\n30\n", "\n"))
    assert result.details is not None
    diff = str(result.details["diff"]).split("\n")
    assert diff[:5] == [" 1 1", " 2 2", "-3 3", "+3 three", " 4 4"]
    assert " ..." in diff
    assert "-30 30" in diff
