"""`make bench`: what people wait for, each beside a bare echo bot on the same server.

Prints medians; asserts nothing. Times depend on the machine, the ratios much less.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

from controller.local.ergo_binary import find_or_build, say_on_stderr
from shared.directives import REPLY_TAG
from shared.irc_client import Received
from shared.ircv3.message import Message
from tests.support.irc_peer import Peer
from tests.support.local_run import LocalRun, local_run, new_task

ROUNDS = 50
TASKS = 5
CHANNEL = "#tasks"


async def main() -> None:
    """Start the system once, measure, print."""
    binary = find_or_build(os.environ, say_on_stderr)
    with tempfile.TemporaryDirectory(prefix="ergonaut-bench-") as folder:
        async with local_run(binary, Path(folder)) as run:
            await _answers(run)
            await _first_lines(run)


async def _answers(run: LocalRun) -> None:
    made: list[str] = []
    # oper: the server's flood limit would be all that one measures
    async with (
        run.person("alice", oper=True) as alice,
        run.person("echo", oper=True) as bot,
        asyncio.TaskGroup() as group,
    ):
        echoing = group.create_task(_echo(bot))
        await _beside_an_echo(alice, "!tasks, no task")
        for count in (1, 20):
            while len(made) < count:
                made.append(await alice.say(CHANNEL, f"!new task {len(made)}"))
                await alice.hears(lambda m: m.command == "INVITE")
            await _beside_an_echo(alice, f"!tasks, {count} of them")
        echoing.cancel()


async def _beside_an_echo(peer: Peer, what: str) -> None:
    """Side by side: as many lines from the echo bot as the controller's answer has."""
    lines = await _asked(peer, "!tasks")
    controller = await _median(lambda: _asked(peer, "!tasks"))
    echo = await _median(lambda: _asked(peer, f"?echo {lines}"))
    sys.stdout.write(
        f"{what:<20} {controller * 1000:6.2f} ms, bare echo of {lines:>2} lines "
        f"{echo * 1000:6.2f} ms: {controller / echo:.2f}x\n"
    )


async def _first_lines(run: LocalRun) -> None:
    async with run.person("bob") as bob:
        waits = []
        for number in range(TASKS):
            room = await new_task(bob, f"write {number}.txt: hi")
            started = time.perf_counter()
            await bob.say(room, "!ready")
            await bob.hears(lambda m, room=room: _by_worker(m, room), 30)  # type: ignore[misc]
            waits.append(time.perf_counter() - started)
            await bob.hears_text("[status] for_review", 30)
            await bob.say(room, "!complete")
            await bob.hears(lambda m: m.command in ("PART", "QUIT"), 30)
    sys.stdout.write(f"!ready to the worker's first line: {median(waits):.2f} s median, ")
    sys.stdout.write(f"{max(waits):.2f} s worst of {TASKS}\n")


def _by_worker(message: Message, room: str) -> bool:
    return (
        message.command == "PRIVMSG"
        and message.params[0] == room
        and message.nick not in ("controller", "bob")
    )


async def _echo(bot: Peer) -> None:
    while True:
        event = await bot.client.events.get()
        if isinstance(event, Received) and event.message.text.startswith("?echo "):
            for _ in range(int(event.message.text.split()[1])):
                tags = {REPLY_TAG: event.message.tags["msgid"]}
                bot.client.send(
                    Message("NOTICE", (CHANNEL, "an answer of a usual length " * 3), tags)
                )


async def _asked(peer: Peer, command: str) -> int:
    """Ask, and count the lines up to the one that replies."""
    msgid = await peer.say(CHANNEL, command)
    wanted = int(command.split()[1]) if command.startswith("?echo") else 1
    lines = replies = 0
    while replies < wanted:
        notice = await peer.hears(lambda m: m.command == "NOTICE")
        lines += 1
        replies += notice.tags.get(REPLY_TAG) == msgid
    return lines


async def _median(once: Callable[[], Awaitable[object]]) -> float:
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        await once()
        times.append(time.perf_counter() - started)
    return median(times)


if __name__ == "__main__":
    asyncio.run(main())
