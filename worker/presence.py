"""The worker's place on the server: in its channel, and with whom; and what was said there."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from dataclasses import replace

from shared.channels import AGENTS
from shared.irc_client import IrcClient, RequestRefused, history_pages
from shared.ircv3.casemap import fold
from shared.ircv3.message import Message
from shared.ircv3.metadata import metadata_list, parse_metadata
from shared.task import title_of_topic
from worker.errors import RoomClosed
from worker.inbound import Room

_TOPIC = "332"
_AROUND = 5
_RETURNS = 3
_RETURNS_SECONDS = 60.0
HISTORY_ROWS = 2000
"""How far back a start reads."""


class Presence:
    """Joins, and joins again after each reconnect. `online` is set while both hold."""

    def __init__(self, client: IrcClient, room: Room) -> None:
        self.room = room
        self.online = asyncio.Event()
        self.arrivals = 0
        """How often the channel was entered."""
        self._client = client
        self._returns: list[float] = []

    async def join(self) -> str:
        """Enter the channel; its title, "" where the server did not tell. Raises RoomClosed."""
        reply = await self._client.request(Message("JOIN", (self.room.channel,)))
        self.arrivals += 1
        if reply.error is not None:
            raise RoomClosed(f"{self.room.channel} is closed to us: {reply.error.text}")
        topics = [message.text for message in reply.messages if message.command == _TOPIC]
        return title_of_topic(topics[-1]) if topics else ""

    async def meet_peers(self) -> None:
        """Be in #agents, and learn from its METADATA which accounts are workers."""
        with suppress(RequestRefused):
            await self._client.request(Message("JOIN", (AGENTS,)))
        reply = await self._client.request(metadata_list(AGENTS))
        changes = [parse_metadata(message) for message in reply.messages]
        names: set[str] = set()
        for change in changes:
            if change is not None and change.key.startswith("pool.") and change.value:
                names |= set(re.split(r"[\s,]+", change.value)) - {""}
        self.room = replace(self.room, pool=frozenset(names))

    async def history(self, rows: int = HISTORY_ROWS) -> list[Message]:
        """The newest messages of the channel, oldest first; none where the server keeps none."""
        found: list[Message] = []
        with suppress(RequestRefused):
            async for message in history_pages(self._client, self.room.channel):
                found.append(message)
                if len(found) >= rows:
                    break
        return found[::-1]

    async def since(self, msgid: str) -> list[Message]:
        """What was said after this message while we were away."""
        found: list[Message] = []
        with suppress(RequestRefused):
            async for message in history_pages(self._client, self.room.channel, after=msgid):
                found.append(message)
        return found

    async def find(self, msgid: str) -> Message | None:
        """One message of the channel by its msgid."""
        channel, anchor = self.room.channel, f"msgid={msgid}"
        request = Message("CHATHISTORY", ("AROUND", channel, anchor, str(_AROUND)))
        reply = await self._client.request(request)
        return next((m for m in reply.messages if m.tags.get("msgid") == msgid), None)

    def is_our_exit(self, message: Message) -> bool:
        """Somebody, or the server, put us out of the channel."""
        match message.command, message.params:
            case "KICK", (channel, who, *_):
                pass
            case "PART", (channel, *_):
                who = message.nick
            case _:
                return False
        return self.room.is_channel(channel) and fold(who) == fold(self._client.nick)

    def may_return(self, now: float) -> bool:
        """Not for ever: who is put out each time he comes is not wanted."""
        self._returns = [at for at in self._returns if now - at < _RETURNS_SECONDS]
        self._returns.append(now)
        return len(self._returns) <= _RETURNS

    async def say(self, text: str) -> None:
        """Past everything that waits; for last words."""
        await self._client.request(Message("PRIVMSG", (self.room.channel, text)), timeout=2.0)

    async def part(self, reason: str) -> None:
        await self._client.request(Message("PART", (self.room.channel, reason)), timeout=2.0)
