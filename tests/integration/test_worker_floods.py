"""What tools can do to a worker, and that a stop ends all of it, behind bubblewrap and without."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from shared.directives import TOOL_TAG, Stop
from tests.support.ergo_server import ErgoServer
from tests.support.messages_api import KEY, Answer, MessagesApi, messages_api
from tests.support.until import until
from tests.support.worker_stage import Stage, stage

pytestmark = pytest.mark.slow

SANDBOXES = ["none", pytest.param("auto", marks=pytest.mark.sandbox)]
Calls = list[tuple[str, Mapping[str, object]]]

DAEMON = (
    "python3 -c 'import os,time;os.fork() and os._exit(0);os.setsid();os.fork() and os._exit(0)"
    ';os.closerange(0,9);os.execlp("sleep","sleep","{mark}")\' '
)
RUNS_WILD = {
    "yes": "yes {mark}",
    "50 children": "for i in $(seq 50); do sleep {mark} & done; wait",
    "a server and a daemon of before": "exec sleep {mark}",
    "ignores signals": "trap '' TERM INT HUP; while :; do sleep {mark}; done",
    "forks while it is killed": "while :; do (sleep {mark} &) ; sleep 0.002; done",
}


@asynccontextmanager
async def at_work(
    server: ErgoServer, unique: str, home: Path, sandbox: str, *batches: Calls
) -> AsyncIterator[tuple[Stage, MessagesApi]]:
    """A worker with the real model edge; each batch of calls is one reply of the model."""
    script = [Answer(calls=batch) for batch in batches]
    async with messages_api(*script) as api, stage(server, unique, home, "work") as room:
        room.secrets = replace(room.secrets, anthropic_api_key=KEY)
        await room.start_worker(
            model="anthropic",
            worker_model="claude-sonnet-4-6",
            anthropic_base_url=api.url,
            sandbox=sandbox,
            sandbox_hide=str(home) if sandbox == "auto" else "",
        )
        yield room, api


def running(mark: str) -> list[Path]:
    """Processes with this word in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in path.read_bytes():
                found.append(path.parent)
        except OSError:
            continue
    return found


def peak_megabytes(marks: tuple[str, ...]) -> float:
    """The most that any process with one of these words has used."""
    peaks = [
        int(found[1])
        for mark in marks
        for process in running(mark)
        if (found := re.search(r"VmHWM:\s+(\d+) kB", (process / "status").read_text()))
    ]
    return max(peaks) / 1024


@pytest.mark.parametrize("sandbox", SANDBOXES)
@pytest.mark.parametrize("name", RUNS_WILD)
async def test_a_stop_ends_all_processes_within_two_seconds(
    ergo: ErgoServer, unique: str, tmp_path: Path, name: str, sandbox: str
) -> None:
    mark = f"33{uuid4().int % 10**9}"
    before = f"sleep {mark} >/dev/null 2>&1 & setsid sleep {mark} >/dev/null 2>&1 & "
    before += DAEMON.format(mark=mark)
    wild = RUNS_WILD[name].format(mark=mark)
    batches: tuple[Calls, ...] = ([("bash", {"command": before})], [("bash", {"command": wild})])
    async with at_work(ergo, unique, tmp_path, sandbox, *batches) as (room, api):
        is_start = '"tool_call_start"'
        await room.controller.until(
            lambda m: is_start in (tag := m.tags.get(TOOL_TAG, "")) and wild[:8] in tag
        )
        await until(lambda: len(running(mark)) >= 4)
        loop = asyncio.get_running_loop()
        asked_at = loop.time()
        assert await room.controller.direct(room.worker, Stop("alice"), "c1") == "TAGMSG"
        assert loop.time() - asked_at < 2.0
        assert running(mark) == []
        assert api.problems == []


@pytest.mark.parametrize("sandbox", SANDBOXES)
async def test_floods_and_junk_take_no_memory_and_reach_nobody_raw(
    ergo: ErgoServer, unique: str, tmp_path: Path, sandbox: str
) -> None:
    batches: tuple[Calls, ...] = (
        [("bash", {"command": "head -c 200000000 /dev/zero | tr '\\0' x"})],
        [("bash", {"command": "head -c 30000000 /dev/urandom"})],
        [("bash", {"command": "truncate -s 1G big; printf 'a\\0\\033[1mb\\a' > junk"})],
        [("read", {"path": "big"}), ("read", {"path": "junk"}), ("edit", {"path": "big"})],
        [("bash", {"command": "cat junk; yes | head -c 200000000"})],
    )
    async with at_work(ergo, unique, tmp_path, sandbox, *batches) as (room, api):
        await room.alice.until(room.is_said("· working"))
        await room.alice.say(room.channel, "still there?")
        await room.alice.until(room.is_said("↪ noted"))
        await room.alice.until(room.is_said("## Summary"))
        workspace = str(room.workspace)
        assert await asyncio.to_thread(peak_megabytes, ("\0-m\0worker\0", workspace)) < 160
        assert api.problems == []
        assert max(len(str(message)) for message in api.messages(-1)) < 200_000
        words = "".join(m.text for m in room.alice.seen if m.nick == room.worker)
        assert not re.search(r"[\x00-\x08\x0b-\x1f]", words)
