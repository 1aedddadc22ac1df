"""The whole system in a private home, as `make run` starts it, with people who talk to it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from controller.home import Home
from controller.local.ergo_process import free_port
from controller.local.system import LocalLaunch, LocalSystem
from shared.description import from_pieces
from shared.firehose import Record, decode
from shared.irc_client import history_pages
from shared.ircv3.message import Message
from shared.ircv3.metadata import metadata_list, parse_metadata
from shared.task import Task
from shared.task_metadata import Problems, from_metadata
from tests.support.ergo_server import ErgoServer
from tests.support.irc_peer import Peer, on_irc

QUICK = {
    "MODEL": "rehearsal",
    "SANDBOX": "none",
    "SWEEP_SECONDS": "1",
    "CONTINUATION_SECONDS": "0.5",
}


@dataclass(frozen=True)
class LocalRun:
    """A running system."""

    system: LocalSystem
    home: Home
    ergo: ErgoServer

    @asynccontextmanager
    async def person(self, name: str, *, oper: bool = False) -> AsyncIterator[Peer]:
        """Somebody with an account, in #tasks. `oper` only lifts the server's flood limits."""
        password = await self.ergo.add_account(name)
        async with on_irc(self.ergo, name, password, oper=oper) as peer:
            await peer.ask("JOIN", "#tasks")
            yield peer

    @asynccontextmanager
    async def maintainer(self) -> AsyncIterator[Peer]:
        """The account `you`, in #tasks."""
        async with on_irc(self.ergo, "you", self.system.credentials.you) as peer:
            await peer.ask("JOIN", "#tasks")
            yield peer

    def workspace(self, channel: str) -> Path:
        return self.home.workspaces / channel.removeprefix("#")


async def stored(peer: Peer, channel: str) -> dict[str, str]:
    """METADATA of a channel, as the server has it now."""
    reply = await peer.client.request(metadata_list(channel))
    changes = (parse_metadata(message) for message in reply.messages)
    return {c.key: c.value for c in changes if c is not None and c.value is not None}


async def stored_task(peer: Peer, channel: str) -> Task:
    """The task in a channel's METADATA; AssertionError if a value is not readable."""
    values, found = await stored(peer, channel), Problems()
    task = from_metadata(channel, values, "", found)
    assert found == []
    return task


async def stored_description(peer: Peer, channel: str) -> str:
    return from_pieces(await stored(peer, channel))


async def firehose(peer: Peer) -> list[Record]:
    """All events so far; the peer must have joined #firehose."""
    lines = [
        m
        async for m in history_pages(
            peer.client, "#firehose", after="timestamp=2020-01-01T00:00:00.000Z"
        )
    ]
    return [decode(line.text) for line in lines if line.command == "PRIVMSG"]


async def new_task(peer: Peer, description: str) -> str:
    """Say `!new` in #tasks, follow the invitation; the channel."""
    await peer.say_text("#tasks", f"!new {description}")
    invite = await peer.hears(lambda m: m.command == "INVITE")
    channel = invite.params[-1]
    await peer.ask("JOIN", channel)
    return channel


async def until_topic(peer: Peer, channel: str, state: str, seconds: float = 20.0) -> Message:
    """The change of a topic to this state; changes before the call that were read are missed."""
    return await peer.hears(
        lambda m: (
            m.command == "TOPIC" and m.params[0] == channel and m.text.startswith(f"[{state}]")
        ),
        seconds,
    )


@asynccontextmanager
async def local_run(binary: Path, root: Path, **settings: str) -> AsyncIterator[LocalRun]:
    """Started, and ended with everything that it started."""
    home = Home(root)
    home.prepare()
    env = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG")}
    launch = LocalLaunch(home, free_port(), binary, env | QUICK | settings)
    with home.supervised():
        system = LocalSystem(launch, lambda line: None)
        try:
            await system.start()
            yield LocalRun(system, home, ErgoServer(system.ergo))
        finally:
            await system.stop()
