"""One case of the gap table on a real ergo: a task for each gap, all of them hit by one kill.

Each lane is held in its own gap; when all are, the controller is killed. A lane that is held
changes nothing for the others, and they all began in the same way: what one kind of job forgets,
none of them makes up for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from controller.limits import CoreSettings
from shared.channels import FIREHOSE, TASKS
from shared.directives import REPLY_TAG
from shared.irc_client import history_pages
from shared.ircv3.message import Message
from shared.task_metadata import Problems, from_metadata
from tests.support.controller_life import ACCOUNT, ControllerLife, Gaps
from tests.support.core_story import SETTINGS
from tests.support.ergo_server import ErgoServer
from tests.support.gap_table import (
    MANY,
    REQUESTER,
    Arrives,
    Ends,
    Facts,
    Leaves,
    Report,
    Say,
    Step,
    Told,
    facts_of,
    told_of,
    without_renaming,
)
from tests.support.irc_peer import Peer, on_irc
from tests.support.local_run import firehose, stored
from tests.support.scripted_engine import Key, ScriptedEngine, ScriptedWorker

_BEGINNING = "timestamp=2020-01-01T00:00:00.000Z"


@dataclass
class Subject:
    """The task of one gap; `title` is its name until it has a channel."""

    title: str
    channel: str = ""
    said: str = ""
    """msgid of the last line that the requester said to it."""

    @property
    def number(self) -> int:
        return int(self.channel.rpartition("-")[2])


@dataclass(frozen=True)
class Outcome:
    """Everything that must be the same with and without a kill."""

    facts: Facts
    topic: str
    moderated: bool
    events: tuple[Told, ...]
    answers: int
    """Of the controller to the line that set it off."""
    workers: tuple[Key, ...]
    """Alive at the end."""
    heard: tuple[str, ...]
    """What the controllers told its worker, in order; a repeated one once."""


@dataclass
class GapStage:
    """A server, a requester, an engine, and controllers one after the other."""

    ergo: ErgoServer
    requester: Peer
    engine: ScriptedEngine
    password: str
    group: asyncio.TaskGroup
    life: ControllerLife | None = None

    async def live(self, *, starts: bool) -> Gaps:
        """A new controller, which finds what is there."""
        life = self.life = ControllerLife(
            self.ergo, self.password, self.engine, self._core(starts=starts), Gaps()
        )
        await life.start(self.group)
        for channel in (TASKS, FIREHOSE):
            await self.requester.ask("JOIN", channel)
        await self.quiet()
        return life.gaps

    def _core(self, *, starts: bool) -> CoreSettings:
        worker = replace(SETTINGS.worker, irc_host=self.ergo.host, irc_port=self.ergo.port)
        limit = MANY if starts else 0
        return replace(
            SETTINGS, worker=worker, max_active_total=limit, max_active_per_requester=limit
        )

    async def die(self) -> None:
        """The next one need not wait for what the server still takes for a living session."""
        assert self.life is not None
        await self.life.kill()
        await self.requester.hears(lambda m: m.command == "QUIT" and m.nick == ACCOUNT, 20)

    async def quiet(self) -> None:
        """Two sweeps later, and nothing left to do."""
        assert self.life is not None
        before = self.engine.lists
        async with asyncio.timeout(20):
            while self.engine.lists < before + 3:  # noqa: ASYNC110  (an engine has no event)
                await asyncio.sleep(0.02)
        await self.life.gaps.idle()

    # What people and workers do

    async def play(self, subjects: list[Subject], step: Step) -> None:
        """The step, with every task at once."""
        async with asyncio.TaskGroup() as group:
            for subject in subjects:
                subject.said = ""
                group.create_task(self._play(subject, step))

    async def _play(self, subject: Subject, step: Step) -> None:
        match step:
            case Say(text):
                place = TASKS if text.startswith("!new") else subject.channel
                words = text.format(title=subject.title)
                subject.said = await self.requester.say(place, words)
            case Report(text):
                self._worker(subject).report(text)
            case Ends(cause):
                self.engine.end(self._current(subject), cause)
            case Arrives() | Leaves():
                pass

    def _current(self, subject: Subject) -> Key:
        return max(key for key in self.engine.workers if key[0] == subject.number)

    def _worker(self, subject: Subject) -> ScriptedWorker:
        return self.engine.workers[self._current(subject)]

    async def find(self, subjects: list[Subject]) -> None:
        """Their channels, by title."""
        titles = {subject.title: subject for subject in subjects}
        topics = await self._topics()
        for channel, topic in topics.items():
            subject = titles.get(topic.partition("] ")[2])
            if subject is not None:
                subject.channel = channel

    async def enter(self, subjects: list[Subject]) -> None:
        for subject in subjects:
            await self.requester.ask("JOIN", subject.channel)

    # What the server holds

    async def until(self, subjects: list[Subject], wanted: Facts, seconds: float = 20.0) -> None:
        """Every task stands as it should; AssertionError says how the first does not."""
        found: Facts | None = None
        subject = subjects[0]
        try:
            async with asyncio.timeout(seconds):
                for subject in subjects:
                    while (found := await self.facts(subject)) != wanted:  # noqa: ASYNC110
                        await asyncio.sleep(0.03)
        except TimeoutError:
            raise AssertionError(f"{subject.title}: {found}, not {wanted}") from None

    async def facts(self, subject: Subject) -> Facts:
        found = Problems()
        task = from_metadata(
            subject.channel, await stored(self.requester, subject.channel), "", found
        )
        return facts_of(task)

    async def _topics(self) -> dict[str, str]:
        reply = await self.requester.client.request(Message("LIST"))
        rows = [m.params for m in reply.messages if m.command == "322"]
        return {channel: topic for _, channel, _, topic in rows}

    async def outcomes(self, subjects: list[Subject]) -> list[Outcome]:
        topics = await self._topics()
        records = await firehose(self.requester)
        lobby = await self._history(TASKS)
        found = []
        for subject in subjects:
            events = [r.event for r in records if r.event.task == subject.channel]
            events = [event for event in events if not event.kind.startswith("task_snapshot")]
            lines = [*lobby, *await self._history(subject.channel)]
            modes = await self.requester.client.request(Message("MODE", (subject.channel,)))
            flags = "".join(m.params[2] for m in modes.messages if m.command == "324")
            found.append(
                Outcome(
                    facts=await self.facts(subject),
                    topic=topics.get(subject.channel, ""),
                    moderated="M" in flags,
                    events=without_renaming(told_of(event) for event in events),
                    answers=sum(self._answers(line, subject) for line in lines),
                    workers=self.engine.alive(subject.number),
                    heard=self._heard(subject),
                )
            )
        return found

    def _heard(self, subject: Subject) -> tuple[str, ...]:
        keys = sorted(key for key in self.engine.workers if key[0] == subject.number)
        return tuple(name for key in keys for name in self.engine.workers[key].carried_out)

    def _answers(self, line: Message, subject: Subject) -> bool:
        return line.nick == ACCOUNT and line.tags.get(REPLY_TAG) == subject.said

    async def _history(self, channel: str) -> list[Message]:
        return [m async for m in history_pages(self.requester.client, channel, after=_BEGINNING)]


@asynccontextmanager
async def gap_stage(ergo: ErgoServer) -> AsyncIterator[GapStage]:
    password = await ergo.add_account(ACCOUNT)
    requester_password = await ergo.add_account(REQUESTER)
    async with (
        on_irc(ergo, REQUESTER, requester_password, oper=True) as requester,
        asyncio.TaskGroup() as group,
    ):
        engine = ScriptedEngine(ergo.host, ergo.port, group)
        stage = GapStage(ergo, requester, engine, password, group)
        try:
            yield stage
        finally:
            if stage.life is not None:
                await stage.life.kill()
            for key in engine.workers:
                engine.end(key, "killed")
