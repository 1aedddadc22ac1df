"""Somebody on a real server, for tests: a client, and the few things to say and wait for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from shared.irc_client import ClientConfig, Connected, IrcClient, Received
from shared.ircv3.batch import multiline_lines, parse_multiline_limits
from shared.ircv3.message import Message
from tests.support.ergo_server import ErgoServer

PATIENCE_SECONDS = 10.0


@dataclass(frozen=True)
class Peer:
    """One connection."""

    client: IrcClient

    async def ask(self, command: str, *params: str) -> str:
        """The text of the whole answer; AssertionError for an error."""
        reply = await self.client.request(Message(command, params))
        assert reply.error is None, reply.error
        return "\n".join(message.text for message in reply.messages)

    async def say(self, target: str, text: str, tags: Mapping[str, str] | None = None) -> str:
        """The msgid of what was said."""
        reply = await self.client.request(Message("PRIVMSG", (target, text), dict(tags or {})))
        assert reply.error is None, reply.error
        return reply.messages[0].tags["msgid"]

    async def say_text(self, target: str, text: str) -> str:
        """As `say`, for a text of several lines: one multiline message."""
        if "\n" not in text:
            return await self.say(target, text)
        limits = parse_multiline_limits(self.client.caps["draft/multiline"])
        lines = multiline_lines(target, text, {}, "peer", limits)
        reply = await self.client.request_lines(lines)
        assert reply.error is None, reply.error
        return reply.messages[0].tags["msgid"]

    async def hears(
        self, fits: Callable[[Message], bool], seconds: float = PATIENCE_SECONDS
    ) -> Message:
        """The next message that fits; what comes before it is forgotten."""
        async with asyncio.timeout(seconds):
            while True:
                event = await self.client.events.get()
                if isinstance(event, Received) and fits(event.message):
                    return event.message

    async def hears_text(self, part: str, seconds: float = PATIENCE_SECONDS) -> Message:
        """The next line of talk that holds these words."""
        return await self.hears(
            lambda m: m.command in ("PRIVMSG", "NOTICE") and part in m.text, seconds
        )


@asynccontextmanager
async def on_irc(
    ergo: ErgoServer, nick: str, password: str | None = None, *, oper: bool = False
) -> AsyncIterator[Peer]:
    """Connected until the end of the block; with a password logged in to the account `nick`."""
    account = nick if password is not None else None
    client = IrcClient(ClientConfig(ergo.host, ergo.port, nick, account=account, password=password))
    async with asyncio.TaskGroup() as group:
        running = group.create_task(client.run())
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not isinstance(await client.events.get(), Connected):
                    pass
            peer = Peer(client)
            if oper:
                await peer.ask("OPER", ergo.oper_name, ergo.oper_password)
            yield peer
        finally:
            await client.close("done")
            running.cancel()
