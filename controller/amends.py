"""After a refused state write the board in memory is ahead of the server. By decision 0002 the
connection ends then, and the next one reads the truth: not at once again and again, but bounded.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from controller.refusals import Refused
from controller.speech import Speech
from controller.texts import age
from shared.channels import TASKS

FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 60.0, 3600.0
_log = logging.getLogger(__name__)


class StartOver(Refused):
    """Ends a connection whose state cannot be trusted any more."""


@dataclass(slots=True)
class FreshStarts:
    """When a connection may be ended for that; outlives connections. Times are monotonic."""

    _last: float = float("-inf")
    _wait: float = FIRST_WAIT_SECONDS
    """From the last one to the next; doubles where the last one was of no use."""

    def seconds_until_next(self, now: float) -> float:
        return max(0.0, self._last + self._wait - now)

    def took(self, now: float) -> None:
        """One begins now."""
        helped = now - self._last >= 2 * self._wait
        self._wait = FIRST_WAIT_SECONDS if helped else min(self._wait * 2, LONGEST_WAIT_SECONDS)
        self._last = now


class Amends:
    """Over one connection."""

    def __init__(self, starts: FreshStarts, speech: Speech, group: asyncio.TaskGroup) -> None:
        self._starts = starts
        self._speech = speech
        self._group = group
        self._planned = False

    async def make(self, why: str) -> None:
        """Raise StartOver; if the last one was too short ago say so once, and raise it later."""
        wait = self._starts.seconds_until_next(asyncio.get_running_loop().time())
        if not wait:
            self._start_over(why)
        if self._planned:
            return
        self._planned = True
        self._group.create_task(self._later(wait, why))
        text = f"the server refuses what I write ({why}); all is read anew in {age(wait)}"
        await self._speech.say(TASKS, (text,))

    async def _later(self, seconds: float, why: str) -> None:
        _log.warning("starting over in %.0f s: %s", seconds, why)
        await asyncio.sleep(seconds)
        self._start_over(why)

    def _start_over(self, why: str) -> None:
        self._starts.took(asyncio.get_running_loop().time())
        raise StartOver(why)
