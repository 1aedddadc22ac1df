from __future__ import annotations

import asyncio
import os
import resource
import stat
from typing import TYPE_CHECKING

import pytest

from tests.support.tool_calls import Call, run_now
from worker.tools import ToolError, ToolResult
from worker.tools.files import FileLocks
from worker.tools.write import WriteTool

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, path: str, content: object, call: Call | None = None) -> ToolResult:
    tool = WriteTool(folder, FileLocks())
    args = {"path": path, "content": content}
    return run_now(tool.run(args, (call or Call()).context()))


def test_t26_missing_folders_are_made(tmp_path: Path) -> None:
    result = write(tmp_path, "a/b/c.txt", "€\n")
    assert result == ToolResult(f"Wrote {tmp_path}/a/b/c.txt")
    assert (tmp_path / "a/b/c.txt").read_bytes() == b"\xe2\x82\xac\n"


def test_t27_an_overwrite_keeps_the_line_ends_given(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    write(tmp_path, "a", "\ufeffone\r\ntwo\rthree\n")
    assert (tmp_path / "a").read_bytes() == b"\xef\xbb\xbfone\r\ntwo\rthree\n"


def test_t28_a_symlink_is_kept_and_its_target_changed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/target").write_text("old")
    (tmp_path / "link").symlink_to("folder/target")
    write(tmp_path, "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder/target").read_text() == "new"
    assert [p.name for p in (tmp_path / "folder").iterdir()] == ["target"]


def test_t29_writes_of_one_file_are_one_after_the_other_by_any_name(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("")
    (tmp_path / "link").symlink_to("target")
    run_now(write_while_locked(tmp_path))
    assert (tmp_path / "target").read_text() in ("target", "link")


async def write_while_locked(folder: Path) -> None:
    locks = FileLocks()
    tool = WriteTool(folder, locks)
    lock = locks.of(str(folder / "target"))
    await lock.acquire()
    async with asyncio.TaskGroup() as group:

        def start(name: str) -> asyncio.Task[ToolResult]:
            return group.create_task(
                tool.run({"path": name, "content": name}, Call().context()), name=name
            )

        held = [start("target"), start("link")]
        await start("other")
        assert not any(task.done() for task in held)
        lock.release()


def test_t30_an_abort_while_waiting_for_the_lock_writes_nothing(tmp_path: Path) -> None:
    call = Call()
    call.aborted.set()
    with pytest.raises(ToolError, match=r"aborted: .*/a was not written"):
        write(tmp_path, "a", "new", call)
    assert not (tmp_path / "a").exists()


def test_t31_mode_bits_are_kept_on_overwrite(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("old")
    (tmp_path / "run.sh").chmod(0o751)
    write(tmp_path, "run.sh", "new")
    assert stat.S_IMODE((tmp_path / "run.sh").stat().st_mode) == 0o751


def test_a_new_file_gets_the_usual_mode(tmp_path: Path) -> None:
    write(tmp_path, "new", "")
    (tmp_path / "usual").touch()
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_t32_a_failed_write_leaves_the_old_file_whole(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(ToolError, match="File too large"):
            write(tmp_path, "a", "x" * 2_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "old")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("ab\ud83d", "half a surrogate pair at position 2", id="T33"),
        pytest.param(None, "content: a string is needed", id="missing"),
    ],
)
def test_content_that_cannot_be_written_is_a_clear_error(
    tmp_path: Path, content: object, message: str
) -> None:
    (tmp_path / "a").write_text("old")
    with pytest.raises(ToolError, match=message):
        write(tmp_path, "a", content)
    assert (tmp_path / "a").read_text() == "old"


def test_folders_and_pipes_are_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ToolError, match="EISDIR"):
        write(tmp_path, ".", "x")
    with pytest.raises(ToolError, match="not a regular file"):
        write(tmp_path, "pipe", "x")
