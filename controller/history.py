"""Reads everything back from the server after a connect (design 4); nothing is decided here.

Requests are pipelined: a thousand channels take a fraction of a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from controller.effects import Joined, Left, Spoken
from controller.inputs import is_by, server_time, spoken
from controller.rebuild import Listed, Need, Snapshot, read_back_to, watermark
from controller.rooms import modes_of
from controller.roster import Roster, is_founder, who_request
from controller.spawner import Spawner
from shared.channels import AGENTS, FIREHOSE, TASKS, is_channel, parse_task_channel
from shared.directives import CONTROL_TAG, REPLY_TAG
from shared.firehose import FirehoseError, Record, decode
from shared.irc_client import IrcClient, Reply, RequestRefused, history_pages
from shared.ircv3.chathistory import targets
from shared.ircv3.message import Message
from shared.ircv3.metadata import metadata_list, parse_metadata
from shared.task import Status
from shared.task_metadata import Problems, from_metadata

_AT_ONCE = 200
_DAY_SECONDS = 86_400.0
_MOST_TARGETS = 1000
_OVERLAP_SECONDS = 1.0  # the watermark is a server time, and lines may share it

Item = TypeVar("Item")
Found = TypeVar("Found")
Metadata = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Gathered:
    """All that was read."""

    snapshot: Snapshot
    present: tuple[Joined | Left, ...]
    missed: tuple[Spoken, ...]
    """Lines since the watermark in #tasks, every task and to us alone, by server time. Archived
    tasks too: that it was archived may be all that was done of a command."""


@dataclass(frozen=True, slots=True)
class _Look:
    """What is found in one channel."""

    row: Listed
    present: tuple[Joined | Left, ...]


@dataclass(frozen=True, slots=True)
class HistoryReader:
    """Over one connection."""

    client: IrcClient
    spawner: Spawner
    account: str
    clock: Callable[[], float]
    first_look_seconds: float
    """How far to look back where no watermark was ever stored."""

    async def gather(self, roster: Roster) -> Gathered:
        listed = await self._list()
        channels = [row.channel for row in listed]
        since = self._missed_since(await self._metadata_of(TASKS))
        people = await self._who_spoke_to_us(since)  # before our JOINs make all channels targets
        await _each(channels, self._join)
        metadata = await self._metadata([TASKS, AGENTS, *channels])
        back_to = read_back_to(metadata, self.clock())
        records = await self._records(back_to)
        asked_at = self.clock()
        workers = await self.spawner.list()
        rows = [row for row in listed if not _was_archived(metadata[row.channel], back_to)]
        looks = await _each(rows, lambda row: self._look(row, roster))
        seen = {look.row.channel: look.row for look in looks}
        lines = await self._missed(since, [TASKS, *channels, *people])
        answered = {m.tags[REPLY_TAG] for m in lines if self._is_answer(m)}
        rooms = tuple(seen.get(row.channel, row) for row in listed)
        snapshot = Snapshot(rooms, metadata, records, workers, asked_at, frozenset(answered))
        present = tuple(change for look in looks for change in look.present)
        return Gathered(snapshot, present, self._said(lines))

    async def description_posts(self, need: Need) -> tuple[list[Message], Message | None]:
        """Our own lines in the channel, and the command that its description came from.

        Only ours: anybody can send the tag of a description.
        """
        lines = await self._whole(need.channel)
        ours = [line for line in lines if is_by(self.account, line)]
        if need.cause is None or need.at is None:
            return ours, None
        place = lines if need.at == need.channel else await self._whole(need.at)
        found = (line for line in place if line.tags.get("msgid") == need.cause)
        return ours, next(found, None)

    async def _whole(self, target: str) -> list[Message]:
        """The history of a channel, or with an account, oldest first; empty where there is none."""
        try:
            return [line async for line in history_pages(self.client, target)][::-1]
        except RequestRefused:
            return []

    # One kind of request each

    async def _list(self) -> tuple[Listed, ...]:
        reply = await self.client.request(Message("LIST"), timeout=30.0)
        rows = [m.params for m in reply.messages if m.command == "322" and len(m.params) > 3]
        listed = [Listed(channel, topic) for _, channel, _, topic, *_ in rows]
        return tuple(row for row in listed if parse_task_channel(row.channel))

    async def _join(self, channel: str) -> None:
        """A channel that an operator made beside ours may be closed to us: then by our right."""
        reply = await self.client.request(Message("JOIN", (channel,)), timeout=30.0)
        if reply.error is not None:
            _refuse(await self.client.request(Message("SAJOIN", (channel,)), timeout=30.0))

    async def _metadata(self, channels: list[str]) -> Metadata:
        return dict(zip(channels, await _each(channels, self._metadata_of), strict=True))

    async def _metadata_of(self, channel: str) -> Mapping[str, str]:
        reply = await self.client.request(metadata_list(channel), timeout=30.0)
        _refuse(reply)
        changes = [parse_metadata(message) for message in reply.messages]
        return {c.key: c.value for c in changes if c is not None and c.value is not None}

    async def _records(self, since: float) -> tuple[Record, ...]:
        records: list[Record] = []
        async for message in self._history(FIREHOSE, since):
            if is_by(self.account, message):
                try:
                    records.append(decode(message.text))
                except FirehoseError:  # a later version's, or an operator's test
                    continue
        return tuple(records)

    async def _look(self, row: Listed, roster: Roster) -> _Look:
        """Who is there, and how it is set up."""
        who = await self.client.request(who_request(row.channel), timeout=30.0)
        modes = frozenset(await modes_of(self.client.request, row.channel))
        registered = is_founder(self.client.nick, who.messages)
        present = tuple(change for message in who.messages for change in roster.feed(message))
        return _Look(replace(row, modes=modes, registered=registered), present)

    def _missed_since(self, tasks: Mapping[str, str]) -> float:
        since = watermark(tasks, self.clock()) or self.clock() - self.first_look_seconds
        return since - _OVERLAP_SECONDS

    async def _who_spoke_to_us(self, since: float) -> list[str]:
        """Nicks: a line to us that the server took may not have reached us in our right mind."""
        until = server_time(self.clock() + _DAY_SECONDS)
        page = targets(f"timestamp={server_time(since)}", f"timestamp={until}", _MOST_TARGETS)
        reply = await self.client.request(page, timeout=30.0)
        _refuse(reply)
        rows = [m.params for m in reply.messages if m.params[:1] == ("TARGETS",)]
        return [target for _, target, *_ in rows if not is_channel(target)]

    async def _missed(self, since: float, places: list[str]) -> list[Message]:
        found = await _each(places, lambda place: self._since(place, since))
        lines = [line for of_place in found for line in of_place]
        return sorted(lines, key=lambda message: message.tags.get("time", ""))

    async def _since(self, channel: str, since: float) -> list[Message]:
        return [message async for message in self._history(channel, since)]

    def _history(self, target: str, since: float) -> AsyncIterator[Message]:
        return history_pages(self.client, target, after=f"timestamp={server_time(since)}")

    def _is_answer(self, message: Message) -> bool:
        """A directive to a worker names the command that it comes from, and answers nobody."""
        directive = CONTROL_TAG in message.tags
        return is_by(self.account, message) and REPLY_TAG in message.tags and not directive

    def _said(self, lines: Iterable[Message]) -> tuple[Spoken, ...]:
        now = self.clock()
        heard = [spoken(message, self.account, now, live=False) for message in lines]
        return tuple(line for line in heard if line is not None)


def _was_archived(values: Mapping[str, str], since: float) -> bool:
    """Before that time: such a channel is left as it is."""
    if values.get("status") != Status.ARCHIVED:
        return False
    times = from_metadata("", values, "", Problems()).times
    return times.entered.get(Status.ARCHIVED, -1) < since


def _refuse(reply: Reply) -> None:
    if reply.error is not None:
        raise RequestRefused(reply.error)


async def _each(items: Iterable[Item], ask: Callable[[Item], Awaitable[Found]]) -> list[Found]:
    """Ask for all of them side by side; the answers in the order of the items."""
    room = asyncio.Semaphore(_AT_ONCE)

    async def one(item: Item) -> Found:
        async with room:
            return await ask(item)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(item)) for item in items]
    return [task.result() for task in tasks]
