"""Drives the core: one input at a time, and a Tick when the core wished for one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from controller.core import Core
from controller.effects import Answer, Handled, Input, Job, Spoken, Tick
from controller.runner import Runner

_log = logging.getLogger(__name__)


class Deciding:
    """Over one connection."""

    def __init__(self, core: Core, runner: Runner, clock: Callable[[], float]) -> None:
        self._core = core
        self._runner = runner
        self._clock = clock

    def begin(self) -> None:
        """What the rebuild found."""
        for job in self._core.begin(self._clock()):
            self._runner.submit(job)

    def decide(self, input: Input) -> None:
        """A line that hits a defect of ours is answered and left.

        To fall over it would be no use: history would bring it back after every start.
        """
        try:
            jobs = self._core.feed(input, self._clock())
        except Exception:
            if not isinstance(input, Spoken):
                raise
            _log.exception("cannot be decided: %s in %s", input.msgid, input.place)
            jobs = [_apology(input)]
        for job in jobs:
            self._runner.submit(job)

    async def run(self, inputs: asyncio.Queue[Input]) -> None:
        """For ever."""
        while True:
            self.decide(await self._next(inputs))

    async def _next(self, inputs: asyncio.Queue[Input]) -> Input:
        due_at = self._core.due_at()
        if due_at is None:
            return await inputs.get()
        try:
            async with asyncio.timeout(max(0.0, due_at - self._clock())):
                return await inputs.get()
        except TimeoutError:
            return Tick()


def _apology(line: Spoken) -> Job:
    text = "that hit a defect of the controller; nothing was done, and it is in the log"
    answer = Answer(line.place, (text,), line.msgid, notice=line.place != line.nick)
    return Job(line.place, (answer, Handled(line.msgid, line.at)))
