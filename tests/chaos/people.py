"""People at their clients: a line that did not come back is typed again."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

from controller.ops.oper_session import OPER_NAME, OperAddress
from shared.channels import TASKS
from shared.irc_client import (
    ClientConfig,
    Connected,
    IrcClient,
    IrcError,
    Received,
    Reply,
)
from shared.ircv3.batch import multiline_lines, parse_multiline_limits
from shared.ircv3.message import Message
from tests.chaos.watch import Watch

_RETRY_SECONDS = 0.2


@dataclass(eq=False)
class Person:
    """One account, straight on ergo; no flood limit, which would be all that one measures."""

    name: str
    client: IrcClient
    oper_password: str
    watch: Watch
    _online: asyncio.Event = field(default_factory=asyncio.Event)
    _rooms: set[str] = field(default_factory=set)
    """Joined on this connection."""

    @classmethod
    def of(cls, name: str, password: str, address: OperAddress, watch: Watch) -> Person:
        config = ClientConfig(
            address.host, address.port, name, account=name, password=password,
            retry_max_seconds=0.5,
        )  # fmt: skip
        return cls(name, IrcClient(config), address.oper_password, watch)

    async def run(self) -> None:
        """Until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.client.run())
                group.create_task(self._listen())
        finally:
            await self.client.close("done")

    async def say(self, target: str, text: str) -> str:
        """The msgid, once the server has taken it; typed again until then."""
        while True:
            with suppress(IrcError):
                reply = await self._try(target, text)
                if reply is not None and reply.error is None and reply.messages:
                    return reply.messages[0].tags["msgid"]
            await asyncio.sleep(_RETRY_SECONDS)

    async def _try(self, target: str, text: str) -> Reply | None:
        await self._online.wait()
        if target.startswith("#") and target not in self._rooms:
            joined = await self.client.request(Message("JOIN", (target,)))
            if joined.error is not None:
                return None
            self._rooms.add(target)
        if "\n" not in text:
            return await self.client.request(Message("PRIVMSG", (target, text)))
        limits = parse_multiline_limits(self.client.caps["draft/multiline"])
        lines = multiline_lines(target, text, {}, "chaos", limits)
        return await self.client.request_lines(lines)

    async def _listen(self) -> None:
        async with asyncio.TaskGroup() as group:
            while True:
                match await self.client.events.get():
                    case Connected():
                        self._online.clear()
                        self._rooms.clear()
                        group.create_task(self._begin())
                    case Received(message) if message.command in ("PRIVMSG", "NOTICE"):
                        self.watch.note_answer(message)
                    case _:
                        pass

    async def _begin(self) -> None:
        with suppress(IrcError):
            await self.client.request(Message("OPER", (OPER_NAME, self.oper_password)))
            await self.client.request(Message("JOIN", (TASKS,)))
            self._rooms.add(TASKS)
            self._online.set()
