"""The host as a process of its own, without a sandbox around it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.tool_calls import Call, is_running
from tests.support.until import until
from worker.sandbox import HostLaunch, NoSandbox, host_launch, survey
from worker.tool_host import ToolHost, ToolHostError
from worker.tools import ToolResult
from worker.tools.environment import MARKER

ENVIRONMENT = {"PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": "the-key", "IRC_PASSWORD": "the-pw"}


@pytest.fixture
def launch(tmp_path: Path) -> HostLaunch:
    return host_launch(NoSandbox(), survey(tmp_path, None, ENVIRONMENT), ENVIRONMENT)


@pytest_asyncio.fixture
async def host(launch: HostLaunch) -> AsyncIterator[ToolHost]:
    host = await ToolHost.start(launch, lambda text: text.replace("hush", "[secret]"))
    yield host
    await host.close()


async def call(host: ToolHost, tool: str, call: Call | None = None, **args: object) -> ToolResult:
    tools = {tool.spec.name: tool for tool in host.tools}
    return await tools[tool].run(args, (call or Call()).context())


async def bash(host: ToolHost, command: str, made: Call | None = None) -> ToolResult:
    return await call(host, "bash", made, command=command)


async def test_the_four_tools_work_through_the_host(host: ToolHost) -> None:
    await call(host, "write", path="a.txt", content="one €\n")
    await call(host, "edit", path="a.txt", edits=[{"old": "one", "new": "two"}])
    assert (await bash(host, "cat a.txt")).text == "two €"
    assert await call(host, "read", path="a.txt") == ToolResult("two €\n")


async def test_a_refusal_is_an_error_result(host: ToolHost) -> None:
    result = await call(host, "read", path="missing")
    assert result.is_error
    assert "ENOENT" in result.text
    assert (await call(host, "write", path="a", content="\ud800")).is_error


async def test_calls_run_side_by_side_and_each_gets_its_own_answer(host: ToolHost) -> None:
    # the first can only end once the second has run
    async with asyncio.TaskGroup() as group:
        first = group.create_task(bash(host, "while [ ! -e go ]; do sleep .01; done; echo 1"))
        second = group.create_task(bash(host, "touch go; echo 2"))
    assert (first.result().text, second.result().text) == ("1", "2")


async def test_updates_arrive_while_the_call_runs_and_an_abort_ends_it(host: ToolHost) -> None:
    made = Call()
    made.on_update = lambda _: made.aborted.set()
    result = await bash(host, "echo hush; sleep 60", made)
    assert made.updates[0] == "[secret]"
    assert result.text.startswith("[secret]\n\n[Aborted")


async def test_results_and_their_details_are_redacted(host: ToolHost) -> None:
    await call(host, "write", path="a", content="hush\nx\n")
    result = await call(host, "edit", path="a", edits=[{"old": "x", "new": "y"}])
    assert result.details == {"first_changed_line": 2, "diff": " 1 [secret]\n-2 x\n+2 y\n 3 "}


async def test_a_large_file_passes_the_line_protocol(host: ToolHost) -> None:
    content = "é" * 3_000_000
    assert not (await call(host, "write", path="big", content=content)).is_error
    assert (await bash(host, "wc -c <big")).text == "6000000"
    assert (await call(host, "write", path="big", content="x" * 34_000_000)).is_error


async def test_t79_tools_see_no_secret_in_their_environment(host: ToolHost) -> None:
    text = (await bash(host, "env; cat /proc/$PPID/environ | tr '\\0' '\\n'")).text
    assert "the-key" not in text
    assert "the-pw" not in text
    assert "GIT_EDITOR=false" in text


async def test_home_and_temporary_files_end_with_the_host(launch: HostLaunch) -> None:
    host = await ToolHost.start(launch)
    text = (await bash(host, "touch $HOME/a; mktemp; echo $HOME")).text
    paths = text.split("\n")
    assert existing(paths) == paths
    await host.close()
    assert existing(paths) == []


def existing(paths: list[str]) -> list[str]:
    return [path for path in paths if Path(path).exists()]


ESCAPES = [
    pytest.param("sleep 60 & echo $!", id="T73 background"),
    pytest.param("setsid sleep 60 & echo $!", id="T75 own session"),
    pytest.param(
        "python3 -c 'import os,time;os.fork() and os._exit(0);os.setsid();os.fork() and os._exit(0)"
        ";print(os.getpid(),flush=True);os.closerange(0,9);time.sleep(60)'; sleep .2",
        id="T75 double fork",
    ),
    pytest.param("trap '' TERM HUP INT; sleep 60 & echo $!", id="ignores signals"),
]


@pytest.mark.parametrize("command", ESCAPES)
async def test_nothing_outlives_the_host(launch: HostLaunch, command: str) -> None:
    host = await ToolHost.start(launch)
    pid = int((await bash(host, command)).text)
    assert is_running(pid)
    await host.close()
    assert not is_running(pid)


@pytest.mark.parametrize("command", ESCAPES)
async def test_a_sweep_ends_what_earlier_calls_left_and_no_call(
    host: ToolHost, command: str
) -> None:
    pid = int((await bash(host, command)).text)
    assert is_running(pid)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(bash(host, "echo here; sleep 0.3; echo still here"))
        await asyncio.sleep(0.1)
        assert await host.sweep()
    assert not is_running(pid)
    assert running.result().text == "here\nstill here"


async def test_closing_ends_running_calls(launch: HostLaunch) -> None:
    host = await ToolHost.start(launch)
    made = Call()
    started = asyncio.Event()
    made.on_update = lambda _: started.set()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(bash(host, "echo $$; exec sleep 60", made))
        await started.wait()
        await host.close()
    assert running.result().is_error
    assert not is_running(int(made.updates[0]))
    assert await bash(host, "true") == ToolResult(
        "the tool host has died; nothing can be run in this attempt", is_error=True
    )
    await host.close()


@pytest.mark.parametrize("command", ESCAPES)
async def test_a_killed_host_answers_at_once_and_leaves_nothing(
    launch: HostLaunch, command: str
) -> None:
    host = await ToolHost.start(launch)
    home = (await bash(host, "echo $HOME")).text
    pid = int((await bash(host, command)).text)
    result = await bash(host, "kill -9 $PPID; sleep 60")
    assert result.is_error
    assert result.text.startswith("the tool host has died")
    assert not host.is_alive
    await host.close()
    await until(lambda: not is_running(pid))
    assert existing([home]) == []


async def test_a_host_that_talks_nonsense_is_ended(launch: HostLaunch) -> None:
    script = "echo '{\"ready\": true}'; read line; echo nonsense; exec sleep 60"
    host = await ToolHost.start(replace(launch, argv=("/bin/sh", "-c", script)))
    assert (await bash(host, "true")).is_error
    await host.close()


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (("/bin/sh", "-c", "echo no such thing >&2; exit 1"), "no such thing"),
        (("/bin/sh", "-c", "exit 0"), "no reason given"),
        (("/nowhere/python",), "/nowhere/python"),
    ],
)
async def test_a_host_that_does_not_start_says_why(
    launch: HostLaunch, argv: tuple[str, ...], reason: str
) -> None:
    with pytest.raises(ToolHostError, match=reason):
        await ToolHost.start(replace(launch, argv=argv))


WORKER = """
import asyncio, sys
from pathlib import Path
from tests.support.tool_calls import Call
from worker.sandbox import NoSandbox, host_launch, survey
from worker.tool_host import ToolHost

async def main():
    host = await ToolHost.start(host_launch(NoSandbox(), survey(Path(sys.argv[1]), None, {}), {}))
    bash = host.tools[3]
    result = await bash.run({"command": "setsid sleep 60 & echo $! $PPID"}, Call().context())
    print(result.text, flush=True)
    await bash.run({"command": "sleep 60"}, Call().context())

asyncio.run(main())
"""


async def test_a_killed_worker_takes_host_and_tools_along(tmp_path: Path) -> None:
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WORKER, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert worker.stdout is not None
    pids = [int(pid) for pid in (await worker.stdout.readline()).split()]
    assert len(pids) == 2
    worker.send_signal(signal.SIGKILL)
    await worker.wait()
    await until(lambda: not any(map(is_running, pids)))


async def test_t82_calls_leave_no_descriptor_and_no_zombie_in_the_host(host: ToolHost) -> None:
    count = "ls /proc/$PPID/fd 2>/dev/null | wc -l"
    before = (await bash(host, count)).text
    for _ in range(30):
        await bash(host, "(sleep 0.001 &)")
    zombies = "cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z '$PPID' ' || true"
    async with asyncio.timeout(10):  # the last of them may still be on their way out
        while (await bash(host, count)).text != before:
            pass
        while not (left := (await bash(host, zombies)).text).startswith("0"):
            pass
    assert left.startswith("0")


async def test_t84_escape_codes_are_kept_for_the_model(host: ToolHost) -> None:
    assert (await bash(host, r"printf 'a\0\033[1mb'")).text == "a\0\x1b[1mb"


async def test_the_mark_of_the_host_is_in_all_it_starts(host: ToolHost) -> None:
    assert len((await bash(host, f"echo ${MARKER}")).text) == 16
