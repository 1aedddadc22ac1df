"""Somebody who sees everything and does nothing: what is waited for, and when a fault strikes."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from controller.ops.oper_session import OPER_NAME, OperAddress
from shared.channels import AGENTS, FIREHOSE, TASKS, parse_task_channel
from shared.directives import REPLY_TAG
from shared.firehose import FirehoseError, Record, decode
from shared.irc_client import (
    ClientConfig,
    Connected,
    IrcClient,
    IrcError,
    Received,
    history_pages,
)
from shared.ircv3.message import Message
from shared.ircv3.metadata import metadata_subscribe
from shared.task import Status

NOTICED_KEYS = ("status", "times", "run", "watermark", "description.0")
_BEGIN = ""
_BEGINNING = "timestamp=2020-01-01T00:00:00.000Z"


@dataclass
class Seen:
    """What is known so far; grows only."""

    answers: dict[str, list[Message]] = field(default_factory=lambda: defaultdict(list))
    """By msgid of the command."""
    created: dict[str, str] = field(default_factory=dict)
    """msgid of a `!new` -> its room."""
    status: dict[str, Status] = field(default_factory=dict)
    """Of each task, by the last transition on #firehose."""
    reasons: dict[str, str] = field(default_factory=dict)
    revs: dict[str, int] = field(default_factory=dict)
    spawned: dict[str, int] = field(default_factory=dict)
    """Highest attempt that was seen at work."""
    exits: dict[str, int] = field(default_factory=dict)
    """Number of `worker_exited`."""
    msgids: set[str] = field(default_factory=set)


class Watch:
    """One anonymous operator connection straight to ergo; `run` keeps it."""

    def __init__(self, address: OperAddress) -> None:
        self.seen = Seen()
        self.client = IrcClient(
            ClientConfig(address.host, address.port, "watch", retry_max_seconds=0.5)
        )
        self._password = address.oper_password
        self._rooms: dict[str, None] = dict.fromkeys((TASKS, FIREHOSE, AGENTS))
        self._todo: asyncio.Queue[str] = asyncio.Queue()
        self._changed = asyncio.Event()
        self._hooks: list[Callable[[Message], None]] = []

    async def run(self) -> None:
        """Until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.client.run())
                group.create_task(self._listen())
                group.create_task(self._errands())
        finally:
            await self.client.close("seen enough")

    async def until(self, holds: Callable[[Seen], bool], seconds: float) -> None:
        """Return as soon as what was seen fits; TimeoutError after `seconds`."""
        async with asyncio.timeout(seconds):
            while not holds(self.seen):
                self._changed.clear()
                await self._changed.wait()

    async def next_line(self, fits: Callable[[Message], bool], seconds: float) -> bool:
        """Wait for a live line that fits; whether one came in time."""
        came = asyncio.Event()

        def hook(message: Message) -> None:
            if fits(message):
                came.set()

        self._hooks.append(hook)
        try:
            async with asyncio.timeout(seconds):
                await came.wait()
        except TimeoutError:
            return False
        finally:
            self._hooks.remove(hook)
        return True

    def note_answer(self, message: Message) -> None:
        """An answer that a person got in private."""
        self._feed(message)

    # What happens

    async def _listen(self) -> None:
        while True:
            match await self.client.events.get():
                case Connected():
                    self._todo.put_nowait(_BEGIN)
                case Received(message):
                    for hook in list(self._hooks):
                        hook(message)
                    self._feed(message)
                case _:
                    pass

    async def _errands(self) -> None:
        """Requests, beside the listening: rooms to enter, or the beginning of a connection."""
        async with asyncio.TaskGroup() as group:
            while True:
                room = await self._todo.get()
                group.create_task(self._begin() if room is _BEGIN else self._enter_soon(room))

    async def _begin(self) -> None:
        with suppress(IrcError):  # the next connection does it
            await self.client.request(Message("OPER", (OPER_NAME, self._password)))
            await self.client.request(metadata_subscribe(*NOTICED_KEYS))
            for room in list(self._rooms):
                self._todo.put_nowait(room)

    async def _enter_soon(self, room: str) -> None:
        """An operator who came before the controller would have the channel."""
        with suppress(IrcError):
            while not await self._is_registered(room):  # noqa: ASYNC110  (tells nobody)
                await asyncio.sleep(0.1)
            await self._enter(room)

    async def _is_registered(self, room: str) -> bool:
        told = await self.client.request(Message("CS", ("INFO", room)))
        return any("is registered" in message.text for message in told.messages)

    async def _enter(self, room: str) -> None:
        await self.client.request(Message("JOIN", (room,)))
        async for message in history_pages(self.client, room, after=_BEGINNING):
            self._feed(message)

    def _feed(self, message: Message) -> None:
        msgid = message.tags.get("msgid", "")
        if message.command not in ("PRIVMSG", "NOTICE") or msgid in self.seen.msgids:
            return
        self.seen.msgids.add(msgid)
        if message.tags.get("account") == "controller":
            if cause := message.tags.get(REPLY_TAG):
                self.seen.answers[cause].append(message)
            if message.params[0] == FIREHOSE:
                with suppress(FirehoseError):
                    self._event(decode(message.text))
        self._changed.set()

    def _event(self, record: Record) -> None:
        event, fields, seen = record.event, record.event.fields, self.seen
        room = event.task
        if room is None or parse_task_channel(room) is None:
            return
        if room not in self._rooms:
            self._rooms[room] = None
            self._todo.put_nowait(room)
        match event.kind:
            case "task_created":
                seen.status.setdefault(room, Status.PENDING)
                seen.created[event.cause or ""] = room
            case "status" if fields["rev"] > seen.revs.get(room, 0):
                seen.revs[room] = fields["rev"]
                seen.status[room] = Status(fields["status"])
                seen.reasons[room] = fields.get("reason", "")
            case "worker_spawned":
                seen.spawned[room] = max(seen.spawned.get(room, 0), fields["attempt"])
            case "worker_exited":
                seen.exits[room] = seen.exits.get(room, 0) + 1
            case _:
                pass
