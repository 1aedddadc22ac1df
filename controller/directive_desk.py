"""Directives to workers, repeated until they are confirmed (design 6): the edge over the outboxes.

Lives as long as a connection. An outbox lives as long as its attempt has a worker.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from controller.effects import Direct, Unconfirmed
from controller.spawner import WorkerList, WorkerState
from shared.directives import CONTROL_TAG, REPLY_TAG, ControlTag, format_to_worker
from shared.irc_client import Reply
from shared.ircv3.casemap import fold
from shared.ircv3.message import Message
from shared.outbox import Entry, Outbox

CONFIRM_SECONDS = 10.0
_REMEMBERED = 16
_log = logging.getLogger(__name__)

Request = Callable[[Message], Awaitable[Reply]]


@dataclass(slots=True)
class _Lane:
    """One direction of one attempt."""

    account: str
    task: int
    attempt: int
    outbox: Outbox = field(default_factory=Outbox)
    running: bool = False
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    """Something is to be sent earlier than was thought."""
    confirmed: dict[int, asyncio.Event] = field(default_factory=dict)
    """By seq."""
    heard: deque[str] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    """msgids that the worker confirmed and that are not matched yet."""
    last_put: float = 0.0
    """Unix seconds."""


class DirectiveDesk:
    """`direct` sends; `joined` and `confirmation` tell it what the worker did."""

    def __init__(
        self,
        request: Request,
        group: asyncio.TaskGroup,
        feed: Callable[[Unconfirmed], None],
        clock: Callable[[], float],
    ) -> None:
        self._request = request
        self._group = group
        self._feed = feed
        self._clock = clock
        self._lanes: dict[tuple[int, int], _Lane] = {}

    async def direct(self, effect: Direct, confirm_seconds: float = CONFIRM_SECONDS) -> bool:
        """Whether the worker confirmed in time; if not, it goes on being repeated."""
        key = effect.task, effect.attempt
        lane = self._lanes.setdefault(key, _Lane(effect.account, *key))
        lane.last_put = self._clock()
        entry = lane.outbox.put(
            format_to_worker(effect.directive),
            cause=effect.cause,
            at_least=int(lane.last_put * 1000),
        )
        done = lane.confirmed[entry.seq] = asyncio.Event()
        self._wake(lane)
        with suppress(TimeoutError):
            async with asyncio.timeout(confirm_seconds):
                await done.wait()
        if not done.is_set():
            self._feed(Unconfirmed(effect.channel, effect.attempt, effect.directive))
        return done.is_set()

    def joined(self, account: str | None) -> None:
        """A worker is there (again): repeat at once."""
        for lane in self._lanes.values():
            if account is not None and fold(lane.account) == fold(account):
                lane.outbox.hurry()
                self._wake(lane)

    def confirmation(self, message: Message) -> None:
        """A TAGMSG with `+draft/reply` confirms; a NOTICE with it refuses, which ends it too."""
        account, msgid = message.tags.get("account"), message.tags.get(REPLY_TAG)
        if account is None or msgid is None:
            return
        for lane in self._lanes.values():
            if fold(lane.account) == fold(account):
                if message.command == "NOTICE":
                    _log.warning("refused: %s", message.text, extra=_task(lane))
                lane.heard.append(msgid)
                self._settle(lane)

    def _settle(self, lane: _Lane) -> None:
        """Match confirmations with what was sent: either may be noticed first."""
        for msgid in lane.heard:
            if (entry := lane.outbox.confirmed(msgid)) is not None:
                lane.heard.remove(msgid)
                lane.confirmed.pop(entry.seq).set()
                self._wake(lane)
                return

    def forget_ended(self, found: WorkerList, asked_at: float) -> None:
        """Nobody is left to take the directives of an attempt that has ended.

        A list proves nothing about what was sent after it was asked for, at `asked_at`.
        """
        if not found.complete:
            return
        live = {
            (seen.ref.task, seen.ref.attempt)
            for seen in found.workers
            if seen.state is not WorkerState.ENDED
        }
        for key in self._lanes.keys() - live:
            if self._lanes[key].last_put < asked_at:
                lane = self._lanes.pop(key)
                lane.outbox = Outbox()
                lane.woken.set()

    def _wake(self, lane: _Lane) -> None:
        lane.woken.set()
        if not lane.running:
            lane.running = True
            self._group.create_task(self._run(lane))

    async def _run(self, lane: _Lane) -> None:
        loop = asyncio.get_running_loop()
        while (at := lane.outbox.next_at()) is not None:
            lane.woken.clear()
            if (entry := lane.outbox.due(loop.time())) is not None:
                await self._send(lane, entry)
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout_at(at):
                    await lane.woken.wait()
        lane.running = False

    async def _send(self, lane: _Lane, entry: Entry) -> None:
        tags = {CONTROL_TAG: str(ControlTag(lane.task, lane.attempt, entry.seq))}
        if entry.cause is not None:
            tags[REPLY_TAG] = entry.cause
        reply = await self._request(Message("PRIVMSG", (lane.account, entry.text), tags))
        if reply.error is not None:  # not there now; its JOIN hurries us
            _log.info("not delivered: %s (%s)", entry.text, reply.error.text, extra=_task(lane))
        entry.msgids.update(
            message.tags["msgid"] for message in reply.messages if "msgid" in message.tags
        )
        self._settle(lane)


def _task(lane: _Lane) -> dict[str, int]:
    return {"task": lane.task}
