"""What goes wrong, when it strikes, and how long it takes until all is well again."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from random import Random

from shared.channels import FIREHOSE, TASKS
from shared.ircv3.message import Message
from shared.task import Status
from tests.chaos.parts import Parts
from tests.chaos.people import Person
from tests.chaos.stories import Pace
from tests.chaos.watch import Watch

HEAL_SECONDS = 60.0
"""What is not well after that is counted as not healed."""
LULL_SECONDS = 3.0
"""At most that much peace after a recovery: it may be hit while it still catches up."""
WAIT_SECONDS = 2.0
"""For the moment that a fault waits for; then it strikes anyhow."""


class Fault(StrEnum):
    """One kind each row of the table."""

    CONTROLLER_KILLED = "controller killed"
    ERGO_KILLED = "ergo killed"
    WORKER_KILLED = "worker killed"
    CONTROLLER_FROZEN = "controller frozen"
    ERGO_FROZEN = "ergo frozen"
    WORKER_FROZEN = "worker frozen"
    CUT = "connections cut"
    DELAYED = "network held"
    DISK_FULL = "disk full"
    """ergo echoes and stores nothing; needs the right to mount a small file system for it."""


class Moment(StrEnum):
    """What a fault waits for, to strike between two effects."""

    EVENT = "an event on #firehose"
    STATE = "a METADATA write"
    TOPIC = "a topic"
    ANSWER = "an answer or another line of the controller"
    COMMAND = "a command"
    ANYTIME = "no moment at all"


_FITS: Mapping[Moment, Callable[[Message], bool]] = {
    Moment.EVENT: lambda m: m.command == "PRIVMSG" and m.params[0] == FIREHOSE,
    Moment.STATE: lambda m: m.command in ("METADATA", "761"),
    Moment.TOPIC: lambda m: m.command == "TOPIC",
    Moment.ANSWER: lambda m: m.command == "NOTICE" and m.tags.get("account") == "controller",
    Moment.COMMAND: lambda m: m.command == "PRIVMSG" and m.text.startswith("!"),
    Moment.ANYTIME: lambda m: False,
}


@dataclass(frozen=True, slots=True)
class Struck:
    """One fault that was done."""

    fault: Fault
    moment: Moment
    healed: float | None
    """Seconds from its beginning until a command after it was answered (a lost worker: until the
    next one was at work); None = not in time."""


@dataclass
class Striker:
    """Does faults, one after the other."""

    parts: Parts
    watch: Watch
    prober: Person
    pace: Pace
    rng: Random
    struck: list[Struck] = field(default_factory=list)

    async def strike_all(self, faults: list[Fault], lines_each: float) -> None:
        """Between two faults some more lines of the script are let through."""
        owed = 0.0
        for fault in faults:
            owed += lines_each
            self.pace.let_through(int(owed))
            owed -= int(owed)
            moment = self.rng.choice(list(Moment))
            struck = await self.strike(fault, moment)
            if struck is not None:
                self.struck.append(struck)

    async def strike(self, fault: Fault, moment: Moment) -> Struck | None:
        """None where there was nothing to hit."""
        await asyncio.sleep(self.rng.uniform(0.0, LULL_SECONDS))
        seconds = self.rng.uniform(0.0, WAIT_SECONDS) if moment is Moment.ANYTIME else WAIT_SECONDS
        await self.watch.next_line(_FITS[moment], seconds)
        if self.rng.random() < 0.5:
            await asyncio.sleep(self.rng.uniform(0.0, 0.15))
        started = asyncio.get_running_loop().time()
        recovered = await self._do(fault)
        if recovered is None:
            return None
        healed: float | None = None
        with suppress(TimeoutError):
            async with asyncio.timeout(HEAL_SECONDS):
                await recovered()
                healed = asyncio.get_running_loop().time() - started
        return Struck(fault, moment, healed)

    async def _do(self, fault: Fault) -> Callable[[], Awaitable[None]] | None:
        """Strike; what to wait for. None = nothing was there to be struck."""
        parts = self.parts
        match fault:
            case Fault.CONTROLLER_KILLED:
                _signal(parts.controller.pid, signal.SIGKILL)
            case Fault.ERGO_KILLED:
                _signal(parts.ergo.pid, signal.SIGKILL)
            case Fault.CONTROLLER_FROZEN:
                await self._freeze(parts.controller.pid)
            case Fault.ERGO_FROZEN:
                await self._freeze(parts.ergo.pid)
            case Fault.CUT:
                parts.proxy.cut()
            case Fault.DELAYED:
                await parts.proxy.hold(self.rng.uniform(0.3, 3.0))
            case Fault.DISK_FULL:
                await parts.disk.fill(self.rng.uniform(2.0, 5.0))
            case Fault.WORKER_KILLED | Fault.WORKER_FROZEN:
                return await self._hit_worker(fault)
        return self._answered

    async def _freeze(self, pid: int) -> None:
        _signal(pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(self.rng.uniform(0.3, 3.0))
        finally:
            _signal(pid, signal.SIGCONT)

    async def _answered(self) -> None:
        """A command that is said after the fault is answered."""
        msgid = await self.prober.say(TASKS, "!ping")
        await self.watch.until(lambda seen: msgid in seen.answers, HEAL_SECONDS)

    async def _hit_worker(self, fault: Fault) -> Callable[[], Awaitable[None]] | None:
        states = {f"#task-{n}": state for n, state in self.parts.live_workers().items()}
        rooms = sorted(room for room, state in states.items() if state.pid is not None)
        if not rooms:
            return None
        busy = [r for r in rooms if self.watch.seen.status.get(r) is Status.IN_PROGRESS]
        room = self.rng.choice(busy or rooms)
        pid, attempt = states[room].pid or 0, states[room].attempt or 0
        if fault is Fault.WORKER_FROZEN:
            await self._freeze(pid)
            return self._answered
        exits = self.watch.seen.exits.get(room, 0)
        _signal(pid, signal.SIGKILL)
        return partial(self._replaced, room, attempt, exits)

    async def _replaced(self, room: str, attempt: int, exits: int) -> None:
        """Its end is told; where it was at work, another one works or a person is asked."""
        await self.watch.until(lambda seen: seen.exits.get(room, 0) > exits, HEAL_SECONDS)
        await self.watch.until(
            lambda seen: (
                seen.spawned.get(room, 0) > attempt
                or seen.status[room] not in (Status.READY, Status.IN_PROGRESS)
            ),
            HEAL_SECONDS,
        )


def _signal(pid: int, number: signal.Signals) -> None:
    if pid:
        with suppress(ProcessLookupError):  # it is just being started again
            os.kill(pid, number)
