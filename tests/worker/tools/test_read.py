from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from tests.support.tool_calls import Call, run_now
from worker.tools import ToolError, ToolResult
from worker.tools.read import Page, ReadTool, read_page


def read(folder: Path, **args: object) -> ToolResult:
    return run_now(ReadTool(folder).run(args, Call().context()))


def numbered(count: int) -> str:
    return "".join(f"line {n}\n" for n in range(1, count + 1))


def test_t01_small_file_is_shown_exactly(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\n\xef\xbb\xbftwo\x0c\n")
    assert read(tmp_path, path="a.txt") == ToolResult("one\r\n\ufefftwo\x0c\n")


@pytest.mark.parametrize(
    ("content", "args", "first", "last", "notice"),
    [
        pytest.param(
            numbered(2001),
            {},
            1,
            2000,
            "[Showing lines 1-2000 of 2001 (cut at 2,000 lines); go on with offset=2001]",
            id="T02",
        ),
        pytest.param(numbered(2000), {}, 1, 2000, "", id="T03"),
        pytest.param(numbered(100), {"offset": 51}, 51, 100, "", id="T05"),
        pytest.param(
            numbered(100), {"limit": 10}, 1, 10, "[90 more lines; go on with offset=11]", id="T06"
        ),
        pytest.param(
            numbered(100),
            {"offset": 41, "limit": 20},
            41,
            60,
            "[40 more lines; go on with offset=61]",
            id="T07",
        ),
        pytest.param(numbered(100), {"offset": 91, "limit": 10}, 91, 100, "", id="T09"),
        pytest.param(numbered(10), {"offset": None, "limit": None}, 1, 10, "", id="T10"),
        pytest.param(numbered(10), {"offset": 1.0}, 1, 10, "", id="whole float"),
    ],
)
def test_pages(
    tmp_path: Path, content: str, args: dict[str, object], first: int, last: int, notice: str
) -> None:
    (tmp_path / "a.txt").write_text(content)
    lines = [f"line {n}" for n in range(first, last + 1)]
    wanted = "\n".join(lines) + (f"\n\n{notice}" if notice else "\n")
    assert read(tmp_path, path="a.txt", **args).text == wanted


def test_t04_long_text_is_cut_by_bytes_at_a_whole_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(("x" * 199 + "\n") * 500)
    result = read(tmp_path, path="a.txt")
    assert result.text == "\n".join(["x" * 199] * 256) + (
        "\n\n[Showing lines 1-256 of 500 (cut at 50.0KB); go on with offset=257]"
    )
    assert result.details == {"truncated": True, "total_lines": 500}


def test_t08_offset_past_the_end_states_the_line_count(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(numbered(3))
    with pytest.raises(ToolError, match=r"offset 4 is past the end: .*a\.txt has 3 lines"):
        read(tmp_path, path="a.txt", offset=4)


def test_t11_a_huge_first_line_gives_a_shell_command(tmp_path: Path) -> None:
    (tmp_path / "a b.txt").write_text("x" * 61_440)
    text = read(tmp_path, path="a b.txt").text
    assert text.startswith("[Line 1 is larger than 50.0KB; nothing shown. Use bash: sed -n 1p '")
    assert "a b.txt' | head -c 51200]" in text


def test_t12_a_huge_single_line_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "big"
    with path.open("wb") as stream:
        stream.write(b"x" * 10_000)
        stream.truncate(300_000_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    text = read(tmp_path, path="big").text
    assert "larger than 50.0KB" in text
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


@pytest.mark.parametrize(
    ("name", "content", "wanted"),
    [
        pytest.param(
            "a.txt",
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
            "[PNG image, 16B; not shown. Use bash to examine it.]",
            id="T13",
        ),
        pytest.param("a.png", b"plain text\n", "plain text\n", id="T14"),
        pytest.param("a.gif", b"GIF89a is a header\n", "GIF89a is a header\n", id="T15"),
        pytest.param(
            "a.txt", b"a\0b", "[Binary file, 3B; not shown. Use bash to examine it.]", id="binary"
        ),
        pytest.param("a.txt", b"", "[The file is empty]", id="T25"),
        pytest.param(
            "a.txt",
            b"caf\xe9\n",
            "caf\ufffd\n\n\n[Not valid UTF-8: bad bytes are shown as \ufffd; edit refuses it]",
            id="T19",
        ),
    ],
)
def test_the_bytes_decide_what_a_file_is(
    tmp_path: Path, name: str, content: bytes, wanted: str
) -> None:
    (tmp_path / name).write_bytes(content)
    assert read(tmp_path, path=name) == ToolResult(wanted)


def test_t20_a_growing_file_ends_at_the_size_seen_at_open(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(numbered(20_000))
    writes = iter(range(1_000))

    def grow() -> bool:
        with path.open("a") as stream:
            stream.write(f"late {next(writes)}\n" * 10_000)
        return False

    result = read_page(Page(path, 1, None), grow)
    assert "of 20000 (" in result.text


def test_t21_a_proc_file_of_size_0_is_read_to_its_end(tmp_path: Path) -> None:
    assert "Pid:" in read(tmp_path, path="/proc/self/status").text


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param("missing", r"missing: No such file or directory \(ENOENT\)", id="T22 missing"),
        pytest.param(".", r"Is a directory \(EISDIR\); list it with bash: ls", id="T22 directory"),
        pytest.param("/dev/zero", r"/dev/zero: not a regular file", id="device"),
        pytest.param("a\0b", "NUL", id="nul"),
        pytest.param("a\ud800b", "path: surrogates not allowed at position 1", id="surrogate"),
        pytest.param("", "non-empty", id="empty"),
        pytest.param(3, "non-empty", id="number"),
    ],
)
def test_what_cannot_be_read_is_a_clear_error(tmp_path: Path, path: object, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        read(tmp_path, path=path)


def test_t22_a_file_without_permission_is_a_clear_error(ordinary_folder: Path) -> None:
    (ordinary_folder / "a").write_text("x")
    (ordinary_folder / "a").chmod(0)
    with pytest.raises(ToolError, match=r"Permission denied \(EACCES\)"):
        read(ordinary_folder, path="a")


def test_t23_a_fifo_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ToolError, match="not a regular file"):
        read(tmp_path, path="pipe")


def test_t24_an_abort_ends_the_read_within_one_chunk(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(numbered(50_000))
    answers = iter([False, True])
    with pytest.raises(ToolError, match="aborted while reading"):
        read_page(Page(tmp_path / "a", 1, None), lambda: next(answers))


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "1"])
def test_a_bad_offset_is_a_clear_error(tmp_path: Path, value: object) -> None:
    with pytest.raises(ToolError, match="offset: a whole number of at least 1 is needed"):
        read(tmp_path, path="a", offset=value)


@pytest.mark.parametrize("name", ["@a b.txt", "a\u00a0b.txt", "~/a b.txt"])
def test_paths_as_models_write_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a b.txt").write_text("found")
    assert read(tmp_path, path=name).text == "found"
