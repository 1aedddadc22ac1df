"""Plays a script: each story by its own people, in its own time, as the states allow."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shared.task import Status
from tests.chaos.people import Person
from tests.chaos.script import ANSWER, ROOM, Act, Finish, Insist, New, Say, Story
from tests.chaos.watch import Watch

PATIENCE_SECONDS = 90.0
"""After that long without what must come, it is lost."""
AGAIN_SECONDS = 6.0
"""A steering line that only reached the memory of a later worker is said again after that."""
FULL = "cannot store history"
REFUSALS = (
    "does nothing to", "has no live worker", "did not work", "needs the right", "expired", FULL,
)  # fmt: skip


def is_refusal(text: str) -> bool:
    return any(words in text for words in REFUSALS)


class Stalled(Exception):
    """What must come did not come."""


class Pace:
    """Lines are let through one by one, so that they are spread over the faults."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(0)
        self._open = False
        self.said = 0

    async def pass_(self) -> None:
        if not self._open:
            await self._room.acquire()
        self.said += 1

    def let_through(self, lines: int) -> None:
        for _ in range(lines):
            self._room.release()

    def open(self) -> None:
        """No more faults: all that is left may be said."""
        self._open = True
        self.let_through(10_000)


@dataclass
class Played:
    """How a story went."""

    story: Story
    room: str = ""
    stalled: str = ""
    """What it waited for in vain."""
    said: dict[str, str] = field(default_factory=dict)
    """msgid -> text, of what was echoed."""


@dataclass(frozen=True)
class Stage:
    """What a story is played on."""

    people: Mapping[str, Person]
    watch: Watch
    pace: Pace
    workspaces: Path


async def play(stage: Stage, played: Played) -> None:
    """To its end, or to where it stalls."""
    player = _Player(stage, played)
    for act in played.story.acts:
        try:
            await player.act(act)
        except (Stalled, TimeoutError, KeyError) as error:
            words = getattr(act, "text", "")[:40]
            played.stalled = f"{type(act).__name__} {words!r}: {error!r}"
            return


class _Player:
    def __init__(self, stage: Stage, played: Played) -> None:
        self._stage = stage
        self._watch = stage.watch
        self._played = played

    @property
    def _status(self) -> Status:
        return self._watch.seen.status.get(self._played.room, Status.PENDING)

    @property
    def _rev(self) -> int:
        return self._watch.seen.revs.get(self._played.room, 0)

    async def act(self, act: Act) -> None:
        match act:
            case New(who, text, where):
                await self._stage.pace.pass_()
                await self._new(who, text, where)
            case Say(who, text, where, when):
                await self._stage.pace.pass_()
                await self._drive(when, who)
                await self._say(who, self._played.room if where == ROOM else where, text)
            case Insist(who, text, when):
                await self._stage.pace.pass_()
                await self._insist(who, text, when)
            case Finish(who):
                await self._finish(who)

    async def _say(self, who: str, where: str, text: str) -> str:
        async with asyncio.timeout(PATIENCE_SECONDS):
            msgid = await self._stage.people[who].say(where, text)
        self._played.said[msgid] = text
        return msgid

    async def _answered(self, who: str, where: str, text: str) -> str:
        msgid = await self._say(who, where, text)
        try:
            await self._watch.until(lambda seen: msgid in seen.answers, PATIENCE_SECONDS)
        except TimeoutError:
            raise Stalled(f"no answer to {text[:40]!r} in {where}") from None
        return msgid

    async def _new(self, who: str, text: str, where: str) -> None:
        while True:
            msgid = await self._answered(who, where, text)
            if FULL not in self._watch.seen.answers[msgid][0].text:
                self._played.room = self._watch.seen.created[msgid]
                return
            await asyncio.sleep(1.0)

    async def _insist(self, who: str, text: str, when: frozenset[Status]) -> None:
        while True:
            await self._drive(when, self._played.story.owner)
            before = self._rev
            msgid = await self._answered(who, self._played.room, text)
            answer = self._watch.seen.answers[msgid][0].text
            if not is_refusal(answer):
                return
            if FULL in answer:
                await asyncio.sleep(1.0)
                continue
            if "no live worker" in answer:  # a fault was faster than the !kill
                await self._say(self._played.story.owner, self._played.room, "!reopen once more")
            await self._changed(before)

    async def _drive(self, wanted: frozenset[Status], who: str) -> None:
        """Do what a requester does until the task is where it is wanted."""
        while self._status not in wanted:
            before, status = self._rev, self._status
            reason = self._watch.seen.reasons.get(self._played.room, "")
            if status is Status.BLOCKED and reason == "question":
                await self._say(who, self._played.room, ANSWER)
            elif status is Status.BLOCKED:
                await self._say(who, self._played.room, "!reopen once more")
            elif status is Status.PENDING:
                await self._say(who, self._played.room, "!ready")
            await self._changed(before)

    async def _changed(self, rev: int) -> None:
        room = self._played.room
        try:
            await self._watch.until(lambda seen: seen.revs.get(room, 0) > rev, PATIENCE_SECONDS)
        except TimeoutError:
            state = f"{self._status} (rev {rev})"
            raise Stalled(f"{room} stays {state}") from None

    async def _finish(self, who: str) -> None:
        """Handed in, and the files are there. Only a steering line is said again."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + PATIENCE_SECONDS
        again_at = loop.time() + AGAIN_SECONDS
        while True:
            await self._drive(frozenset({Status.FOR_REVIEW}), who)
            missing = self._missing()
            if not missing:
                return
            if loop.time() > ends_at:
                raise Stalled(f"no {', '.join(missing)}")
            if loop.time() > again_at and self._played.story.heard:
                again_at = loop.time() + AGAIN_SECONDS
                await self._say(who, self._played.room, self._played.story.heard[0])
            await asyncio.sleep(0.1)

    def _missing(self) -> list[str]:
        folder = self._stage.workspaces / self._played.room.removeprefix("#")
        return [name for name in self._played.story.files if not (folder / name).exists()]
