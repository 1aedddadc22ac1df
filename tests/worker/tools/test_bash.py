"""The contract of `bash`, case by case; the process is real, the host around it is not there."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import stat
from pathlib import Path

import pytest

from tests.support.tool_calls import Call, is_running
from tests.support.until import until
from worker.tools import ToolError, ToolResult
from worker.tools.bash import BashSite, BashTool
from worker.tools.children import Children
from worker.tools.spill import SpillFolder


@pytest.fixture
def bash(tmp_path: Path) -> BashTool:
    (tmp_path / "work").mkdir()
    (tmp_path / "spill").mkdir()
    return BashTool(BashSite(tmp_path / "work", SpillFolder(tmp_path / "spill"), Children()))


async def run(bash: BashTool, command: str, call: Call | None = None, **args: object) -> ToolResult:
    return await bash.run({"command": command, **args}, (call or Call()).context())


def now() -> float:
    return asyncio.get_running_loop().time()


def details(code: int, ended: str = "exited") -> dict[str, object]:
    return {"exit_code": code, "ended": ended, "truncated": False, "full_output": None}


@pytest.mark.parametrize(
    ("command", "text", "code"),
    [
        pytest.param("echo hello", "hello", 0, id="T59"),
        pytest.param("echo before; exit 3", "before\n\n[Exit code 3]", 3, id="T60"),
        pytest.param("true", "(no output)", 0, id="T61"),
        pytest.param("false", "(no output)\n\n[Exit code 1]", 1, id="T61 failing"),
        pytest.param(
            "for i in 1 2; do echo o$i; echo e$i >&2; done", "o1\ne1\no2\ne2", 0, id="T62"
        ),
        pytest.param(
            "echo x; kill -9 $$", "x\n\n[Exit code 137 (SIGKILL)]", 137, id="T63 by signal"
        ),
        pytest.param(r"printf '\342\202'; sleep .05; printf '\254'", "€", 0, id="T68"),
        pytest.param(r"printf 'a\377\0\033[1mb\342'", "a\ufffd\0\x1b[1mb\ufffd", 0, id="T69"),
        pytest.param("cat", "(no output)", 0, id="T77 cat"),
        pytest.param("read x", "(no output)\n\n[Exit code 1]", 1, id="T77 read"),
        pytest.param("python3 -", "(no output)", 0, id="T77 python"),
        pytest.param("pwd | xargs basename", "work", 0, id="working directory"),
    ],
)
async def test_what_a_command_gives(bash: BashTool, command: str, text: str, code: int) -> None:
    started = now()
    assert await run(bash, command) == ToolResult(text, is_error=code != 0, details=details(code))
    assert now() - started < 5


async def test_t64_a_missing_working_directory_is_a_clear_error(tmp_path: Path) -> None:
    site = BashSite(tmp_path / "gone", SpillFolder(tmp_path), Children())
    with pytest.raises(ToolError, match="gone: the working directory is gone; nothing was run"):
        await run(BashTool(site), "touch started")


async def test_t65_of_4000_lines_the_last_2000_are_shown(bash: BashTool, tmp_path: Path) -> None:
    result = await run(bash, "seq 4000")
    spill = tmp_path / "spill/output-1.log"
    assert result.text == "\n".join(map(str, range(2001, 4001))) + (
        f"\n\n[Showing lines 2001-4000 of 4000, 18.5KB in all. Full output: {spill}]"
    )
    assert text_of(spill) == "".join(f"{n}\n" for n in range(1, 4001))


def text_of(path: Path) -> str:
    return path.read_text()


async def test_t66_of_one_long_line_the_end_is_shown(bash: BashTool, tmp_path: Path) -> None:
    result = await run(bash, "head -c 61440 /dev/zero | tr '\\0' x")
    assert result.text == "x" * 51_200 + (
        "\n\n[Showing the last 50.0KB of line 1 (the line has 60.0KB), 60.0KB in all."
        f" Full output: {tmp_path}/spill/output-1.log]"
    )


async def test_t67_many_small_chunks_give_few_updates(bash: BashTool) -> None:
    call = Call()
    started = now()
    await run(bash, "for i in {1..5000}; do echo $i; done", call)
    assert len(call.updates) <= (now() - started) / 0.1 + 1
    assert len(call.updates) < 25


async def test_updates_show_what_there_is_while_the_command_runs(bash: BashTool) -> None:
    call = Call()
    call.on_update = lambda text: call.aborted.set() if text == "first" else None
    result = await run(bash, "echo first; sleep 60", call)
    assert result.text.startswith("first\n\n[Aborted")


async def test_t70_a_timeout_kills_the_group_and_keeps_the_output(bash: BashTool) -> None:
    started = now()
    result = await run(bash, "echo partial; sleep 60 | sleep 60", timeout=1)
    assert 0.9 < now() - started < 10
    assert result == ToolResult(
        "partial\n\n[Timed out after 1 s: the command and its children were killed]",
        is_error=True,
        details=details(137, "timed out"),
    )


async def test_t70_a_timeout_names_the_file_of_long_output(bash: BashTool, tmp_path: Path) -> None:
    result = await run(bash, "seq 4000; sleep 60", timeout=0.5)
    assert f"Full output: {tmp_path}/spill/output-1.log]\n\n[Timed out" in result.text


async def test_t71_an_abort_kills_the_group_and_keeps_the_output(bash: BashTool) -> None:
    call = Call()
    call.on_update = lambda _: call.aborted.set()
    result = await run(bash, "sleep 60 & echo $!; sleep 60", call)
    pid, _, reason = result.text.partition("\n\n")
    assert reason == "[Aborted: the command and its children were killed]"
    await until(lambda: not is_running(int(pid)))


async def test_an_aborted_run_starts_nothing(bash: BashTool, tmp_path: Path) -> None:
    call = Call()
    call.aborted.set()
    with pytest.raises(ToolError, match="aborted: the command was not started"):
        await run(bash, f"touch {tmp_path}/started", call)


async def test_a_cancelled_call_leaves_no_process(bash: BashTool) -> None:
    pids: list[int] = []
    got_pid = asyncio.Event()
    call = Call()

    def note(text: str) -> None:
        pids.append(int(text))
        got_pid.set()

    call.on_update = note
    async with asyncio.TaskGroup() as group:
        task = group.create_task(run(bash, "echo $$; exec sleep 60", call))
        await got_pid.wait()
        task.cancel()
    assert not is_running(pids[0])


@pytest.mark.parametrize(
    "value", [0, -1, float("nan"), float("inf"), 1801, 2_147_484, True, "10"], ids=str
)
async def test_t72_a_bad_timeout_is_an_error_before_anything_runs(
    bash: BashTool, tmp_path: Path, value: object
) -> None:
    with pytest.raises(ToolError, match="timeout: "):
        await run(bash, "touch started", timeout=value)
    assert names_in(tmp_path / "work") == []


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@pytest.mark.parametrize("command", ["", "  ", None, 3, "a\0b", "a\ud800"], ids=repr)
async def test_a_bad_command_is_a_clear_error(bash: BashTool, command: object) -> None:
    with pytest.raises(ToolError, match="command: "):
        await bash.run({"command": command}, Call().context())


async def test_a_command_too_long_for_the_system_is_a_clear_error(bash: BashTool) -> None:
    with pytest.raises(ToolError, match="bash could not be started: Argument list too long"):
        await run(bash, "true " + "x" * 200_000)


async def test_t73_a_silent_background_process_does_not_hold_the_call(bash: BashTool) -> None:
    started = now()
    result = await run(bash, "sleep 60 & echo $!")
    assert now() - started < 10
    pid = int(result.text)
    assert is_running(pid)
    os.kill(pid, signal.SIGKILL)


async def test_t74_a_chatty_background_process_holds_the_call_up_to_our_cap(
    bash: BashTool,
) -> None:
    started = now()
    result = await run(bash, "(while :; do echo x; sleep .05; done) & echo $!", timeout=1)
    assert now() - started < 10
    assert "what it left in the background goes on writing" in result.text
    assert not result.is_error
    pid = int(result.text.split("\n")[0])
    assert is_running(pid), "and it is not killed by a closed pipe"
    os.kill(pid, signal.SIGKILL)


async def test_a_chatty_background_process_outlives_the_call(bash: BashTool) -> None:
    script = "(while echo x; do sleep .02; done) & echo $!"
    result = await run(bash, script, timeout=0.3)
    pid = int(result.text.split("\n")[0])
    await run(bash, "sleep 0.3")
    assert is_running(pid)
    os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(
    "command",
    [
        "git -c user.name=x -c user.email=x@x.invalid commit --allow-empty",
        "git -c user.name=x -c user.email=x@x.invalid rebase -i --root",
        "git log",
        "sudo -A true",
        "ssh -o ConnectTimeout=1 -p 1 nobody@127.0.0.1",
        "vi file </dev/tty",
    ],
)
async def test_t78_what_would_wait_for_a_person_ends_at_once(
    bash: BashTool, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    for name in ("GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "SUDO_ASKPASS", "SSH_ASKPASS"):
        monkeypatch.setenv(name, "false")
    await run(
        bash,
        "git init -q && git -c user.name=x -c user.email=x@x.invalid commit -qm x --allow-empty",
    )
    result = await run(bash, command, timeout=10)
    assert result.is_error == (command != "git log")
    assert result.details is not None
    assert result.details["ended"] == "exited"


async def test_t80_200_mb_of_output_take_no_memory_and_hold_up_nobody(
    bash: BashTool, tmp_path: Path
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    longest = 0.0
    async with asyncio.TaskGroup() as group:
        task = group.create_task(run(bash, "yes | head -c 200000000"))
        while not task.done():
            tick = now()
            await asyncio.wait([task], timeout=0.01)
            longest = max(longest, now() - tick)
    assert "190.7MB in all. First 50.0MB of it: " in task.result().text
    assert size_of(tmp_path / "spill/output-1.log") == 50 * 1024 * 1024
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
    assert longest < 1


def size_of(path: Path) -> int:
    return path.stat().st_size


async def test_t82_a_hundred_calls_leave_no_descriptor_open(bash: BashTool) -> None:
    await run(bash, "true")
    before = descriptors()
    async with asyncio.TaskGroup() as group:
        for _ in range(100):
            group.create_task(run(bash, "echo x"))
    assert descriptors() == before


def descriptors() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


async def test_t83_the_file_of_long_output_is_private(bash: BashTool, tmp_path: Path) -> None:
    await run(bash, "seq 4000")
    assert stat.S_IMODE(mode_of(tmp_path / "spill/output-1.log")) == 0o600


def mode_of(path: Path) -> int:
    return path.stat().st_mode


def test_only_the_newest_files_of_long_output_are_kept(tmp_path: Path) -> None:
    folder = SpillFolder(tmp_path)
    for _ in range(10):
        folder.create().close()
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept == {f"output-{n}.log" for n in range(3, 11)}
