"""Everything that lives as long as one connection (design 1.1): it starts with nothing but what the
server holds, and whatever goes wrong ends it as a whole.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from controller.amends import Amends, FreshStarts
from controller.core import Core
from controller.deciding import Deciding
from controller.directive_desk import DirectiveDesk
from controller.effects import DescriptionRead, Input, Joined, Tick, WorkersListed
from controller.engine import Engine
from controller.errors import StartRefused
from controller.fence import Fence
from controller.firehose_log import FirehoseLog
from controller.history import Gathered, HistoryReader
from controller.inputs import is_by, spoken, telemetry, touched
from controller.limits import CoreSettings
from controller.rebuild import Rebuilt, choose_description, rebuild
from controller.refusals import Refused
from controller.rooms import Rooms
from controller.roster import Roster
from controller.runner import Gap, Hands, Runner, go_on
from controller.spawner import Spawner
from controller.speech import Speech
from controller.start_checks import (
    become_operator,
    require_caps,
    require_lasting_history,
    require_metadata_right,
    require_oper_rights,
    require_service_rights,
)
from controller.unproven import Unproven
from controller.write_schedule import topic_write
from controller.writes import PacedWrites
from shared.channels import AGENTS, FIREHOSE, TASKS
from shared.directives import REPLY_TAG
from shared.irc_client import (
    Connected,
    ConnectionLost,
    Disconnected,
    Event,
    IrcClient,
    Received,
    ReceivedBatch,
)
from shared.ircv3.casemap import fold
from shared.ircv3.message import Message

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Office:
    """What outlives connections."""

    client: IrcClient
    spawner: Spawner
    core: CoreSettings
    sweep_seconds: float
    secret: str = field(repr=False)
    """Our SASL password; workers' passwords derive from it."""
    oper_password: str = field(repr=False)
    anthropic_api_key: str = field(repr=False)
    clock: Callable[[], float]
    """Unix seconds."""
    event_ids: Iterator[int]
    unproven: Unproven = field(default_factory=Unproven)
    fresh_starts: FreshStarts = field(default_factory=FreshStarts)
    gap: Gap = go_on


class Connection:
    """One connection, from the fence to its end."""

    def __init__(self, office: Office, connected: Connected) -> None:
        self._office = office
        self._connected = connected
        self._account = office.core.account
        self._inputs: asyncio.Queue[Input] = asyncio.Queue()
        self._roster = Roster(self._account)
        self._fence = Fence(office.client.request, self._account, secrets.token_hex(8))
        self._desk: DirectiveDesk | None = None
        self._writes: PacedWrites | None = None
        self._touched: set[str] = set()
        """Channels that somebody else has changed since the last sweep."""
        self._caught_up: frozenset[str] = frozenset()
        """msgids that were read from history, and may come live too."""
        self.over = False
        """The server or the network has ended it."""

    async def run(self, when_ready: Callable[[], None]) -> None:
        """Serve until it is lost, which is an error like any other (an ExceptionGroup)."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._listen())
            group.create_task(self._work(group, when_ready))

    # The world comes in

    async def _listen(self) -> None:
        while True:
            self._hear(await self._office.client.events.get())

    def _hear(self, event: Event) -> None:
        match event:
            case Disconnected(reason=reason):
                self.over = True
                raise ConnectionLost(reason)
            case Received(message):
                self._receive(message)
            case ReceivedBatch() | Connected():
                pass

    def _receive(self, message: Message) -> None:
        for change in self._roster.feed(message):
            self._inputs.put_nowait(change)
            if self._desk is not None and isinstance(change, Joined):
                self._desk.joined(change.account)
        if message.command == "PRIVMSG":
            line = spoken(message, self._account, self._office.clock())
            if line is not None and line.msgid not in self._caught_up:
                self._inputs.put_nowait(line)
        elif message.command in ("TAGMSG", "NOTICE") and self._is_to_us(message):
            self._take_signal(message)
        elif self._writes is not None and (channel := touched(message, self._account)):
            self._writes.forget(channel)
            self._touched.add(channel)

    def _is_to_us(self, message: Message) -> bool:
        return bool(message.params) and fold(message.params[0]) == fold(self._account)

    def _take_signal(self, message: Message) -> None:
        if is_by(self._account, message):
            if answer := self._fence.feed(message):
                self._office.client.send(answer)
        elif REPLY_TAG in message.tags and self._desk is not None:
            self._desk.confirmation(message)
        elif (seen := telemetry(message)) is not None:
            self._inputs.put_nowait(seen)

    # Work

    async def _work(self, group: asyncio.TaskGroup, when_ready: Callable[[], None]) -> None:
        office, client = self._office, self._office.client
        hands = self._hands(group)
        try:
            await self._take_office(hands.rooms)
        except Refused as error:  # nothing has begun: trying again would end the same
            raise StartRefused(str(error)) from error
        reader = HistoryReader(
            client, office.spawner, self._account, office.clock, office.core.command_max_age_seconds
        )
        gathered = await reader.gather(self._roster)
        for row in gathered.snapshot.channels:
            hands.writes.note(row.channel, topic_write(row.channel, row.topic))
        rebuilt = rebuild(gathered.snapshot, office.core, office.clock())
        deciding = Deciding(Core(office.core, rebuilt), Runner(hands, group), office.clock)
        deciding.begin()
        await self._catch_up(deciding, gathered, rebuilt, reader)
        _log.info("at work as %s, with %d tasks", self._account, len(rebuilt.board))
        group.create_task(self._sweep(hands.log))
        when_ready()
        await deciding.run(self._inputs)

    async def _take_office(self, rooms: Rooms) -> None:
        """Be the only controller, on a server that is as it must be."""
        request = self._office.client.request
        require_caps(self._connected.caps)
        await self._fence.claim()
        await become_operator(request, self._account, self._office.oper_password)
        await require_service_rights(request, self._account)
        for channel in (TASKS, FIREHOSE, AGENTS):
            await rooms.make(channel, moderated=channel == FIREHOSE)
        await require_oper_rights(request)
        await require_metadata_right(request)
        await require_lasting_history(request)

    def _hands(self, group: asyncio.TaskGroup) -> Hands:
        office, client = self._office, self._office.client
        feed = self._inputs.put_nowait
        writes = self._writes = PacedWrites(client.request, group)
        speech = Speech(client, office.core.line_max_bytes)
        self._desk = DirectiveDesk(client.request, group, feed, office.clock)
        return Hands(
            client=client,
            writes=writes,
            log=FirehoseLog(client.request, office.event_ids, office.clock, office.unproven),
            rooms=Rooms(client.request, writes),
            speech=speech,
            desk=self._desk,
            engine=Engine(office.spawner, client, office.secret, office.anthropic_api_key),
            amends=Amends(office.fresh_starts, speech, group),
            feed=feed,
            gap=office.gap,
        )

    async def _catch_up(
        self, deciding: Deciding, gathered: Gathered, rebuilt: Rebuilt, reader: HistoryReader
    ) -> None:
        """Who is there, what was lost, then what was said meanwhile, in the order of the server."""
        for change in gathered.present:
            deciding.decide(change)
        for need in rebuilt.needs:
            text = choose_description(need, *await reader.description_posts(need))
            deciding.decide(DescriptionRead(need.channel, text))
        self._caught_up = frozenset(line.msgid for line in gathered.missed)
        for line in gathered.missed:
            deciding.decide(line)

    async def _sweep(self, log: FirehoseLog) -> None:
        """Look at the workers now and then, and whenever the engine says that something changed."""
        spawner = self._office.spawner
        while True:
            log_lost = not await log.prove(self._office.client)
            asked_at = self._office.clock()
            found = await spawner.list()
            if self._desk is not None:
                self._desk.forget_ended(found, asked_at)
            touched, self._touched = frozenset(self._touched), set()
            self._inputs.put_nowait(WorkersListed(found, asked_at, touched, log_lost))
            self._inputs.put_nowait(Tick())
            try:
                async with asyncio.timeout(self._office.sweep_seconds):
                    await spawner.changed()
            except TimeoutError:
                continue
