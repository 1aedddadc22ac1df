"""The paced write queue of each channel: the only way by which state reaches the server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from controller.write_schedule import Write, WriteSchedule
from shared.irc_client import Reply
from shared.ircv3.casemap import Folded, fold
from shared.ircv3.message import Message
from shared.ircv3.metadata import means_absent

Request = Callable[[Message], Awaitable[Reply]]


def is_accepted(reply: Reply) -> bool:
    """Deleting what is not there was no failure."""
    return reply.error is None or means_absent(reply.error)


class PacedWrites:
    """One schedule per channel; channels go side by side. Lives as long as a connection."""

    def __init__(self, request: Request, group: asyncio.TaskGroup) -> None:
        self._request = request
        self._group = group
        self._lanes: dict[Folded, _Lane] = {}

    async def write(self, channel: str, writes: Sequence[Write]) -> list[Reply]:
        """Queue them and wait until each, or what replaced it, is answered."""
        lane = self._lane(channel)
        answers = [lane.put(write) for write in writes]
        if not lane.running:
            lane.running = True
            self._group.create_task(lane.run(self._request))
        return [await answer for answer in answers]

    def note(self, channel: str, write: Write) -> None:
        """What is already so on the server."""
        self._lane(channel).schedule.note(write)

    def forget(self, channel: str) -> None:
        """Somebody else has changed it."""
        self._lane(channel).schedule.forget()

    def _lane(self, channel: str) -> _Lane:
        return self._lanes.setdefault(fold(channel), _Lane())


class _Lane:
    """The queue of one channel, and who waits for which of its writes."""

    def __init__(self) -> None:
        self.schedule = WriteSchedule()
        self.running = False
        self._waiting: dict[str, asyncio.Future[Reply]] = {}

    def put(self, write: Write) -> asyncio.Future[Reply]:
        self.schedule.put(write)
        if write.key not in self._waiting:
            self._waiting[write.key] = asyncio.get_running_loop().create_future()
        return self._waiting[write.key]

    async def run(self, request: Request) -> None:
        """Send until nothing is queued. A lost connection ends it, and the connection's group."""
        loop = asyncio.get_running_loop()
        while (at := self.schedule.next_at()) is not None:
            await asyncio.sleep(max(0.0, at - loop.time()))
            write = self.schedule.take(loop.time())
            if write is not None:
                await self._send(write, request)
        self.running = False

    async def _send(self, write: Write, request: Request) -> None:
        answer = self._waiting.pop(write.key)
        if self.schedule.is_right(write):
            self.schedule.skipped()
            reply = Reply(())
        else:
            reply = await request(write.message)
            now = asyncio.get_running_loop().time()
            self.schedule.replied(now, accepted=is_accepted(reply))
        if not answer.cancelled():
            answer.set_result(reply)
