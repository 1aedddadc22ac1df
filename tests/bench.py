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
    # oper: the server's flood limit would be all that one measures
    async with (
        run.person("alice", oper=True) as alice,
        run.person("echo", oper=True) as bot,
        asyncio.TaskGroup() as group,
    ):
        echoing = group.create_task(_echo(bot))
        bare = await _median(lambda: _asked(alice, "?ping"))
        few = await _median(lambda: _asked(alice, "!tasks"))
        for number in range(20):
            await alice.say(CHANNEL, f"!new task {number}")
            await alice.hears(lambda m: m.command == "INVITE")
        many = await _median(lambda: _asked(alice, "!tasks"))
        echoing.cancel()
    _print("bare echo bot, one NOTICE", bare, bare)
    _print("!tasks, no task", few, bare)
    _print("!tasks, 20 tasks", many, bare)


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
        if isinstance(event, Received) and event.message.text == "?ping":
            tags = {REPLY_TAG: event.message.tags["msgid"]}
            bot.client.send(Message("NOTICE", (CHANNEL, "pong"), tags))


async def _asked(peer: Peer, command: str) -> None:
    msgid = await peer.say(CHANNEL, command)
    await peer.hears(lambda m: m.tags.get(REPLY_TAG) == msgid)


async def _median(once: Callable[[], Awaitable[None]]) -> float:
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        await once()
        times.append(time.perf_counter() - started)
    return median(times)


def _print(what: str, seconds: float, bare: float) -> None:
    sys.stdout.write(f"{what:<28} {seconds * 1000:6.2f} ms  {seconds / bare:5.2f}x\n")


if __name__ == "__main__":
    asyncio.run(main())
