"""Keep one part alive: start it again when it dies, with growing pauses and a line why."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, Protocol

from controller.errors import LocalError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 30.0
LOOPING_ENDS = 3
"""So many ends in a row are no accident."""
HEALTHY_SECONDS = 60.0
"""After so long a run the pauses begin anew."""


class Part(Protocol):
    """What the keeper needs of a part: ergo and the controller are such."""

    @property
    def name(self) -> str: ...

    async def start(self) -> None: ...

    async def wait(self) -> int: ...

    def last_words(self) -> str: ...


async def keep(
    part: Part, say: Callable[[str], None], tell: Callable[[str], Awaitable[bool]]
) -> NoReturn:
    """Watch a started part for ever. `say` is for the terminal; `tell` for #tasks, where a part
    that ends again and again is told of once: False = it could not be told now."""
    loop = asyncio.get_running_loop()
    streak = _Streak(part.name, tell)
    started = loop.time()
    while True:
        reason = _describe(await part.wait(), part.last_words())
        if loop.time() - started > HEALTHY_SECONDS:
            streak = _Streak(part.name, tell)
        while True:
            say(f"{part.name} ended ({reason}); starting it again in {streak.pause:g} s")
            await streak.ended(reason)
            try:
                await part.start()
            except LocalError as error:
                reason = str(error)
            else:
                break
        say(f"{part.name} runs again")
        started = loop.time()
        await streak.report()


@dataclass
class _Streak:
    """Ends of one part without a healthy run between them."""

    name: str
    tell: Callable[[str], Awaitable[bool]]
    ends: int = 0
    reason: str = ""
    told: bool = False
    pause: float = FIRST_PAUSE_SECONDS

    async def ended(self, reason: str) -> None:
        """Wait, longer each time."""
        self.ends, self.reason = self.ends + 1, reason
        await self.report()
        await asyncio.sleep(self.pause)
        self.pause = min(self.pause * 2, LONGEST_PAUSE_SECONDS)

    async def report(self) -> None:
        """To people, once; what cannot be told now is tried again."""
        if self.ends >= LOOPING_ENDS and not self.told:
            again = f"it is started again, each time after up to {LONGEST_PAUSE_SECONDS:g} s"
            self.told = await self.tell(
                f"{self.name} ends at once, {self.ends} times in a row ({self.reason}); {again}"
            )


def _describe(status: int, last_words: str) -> str:
    if status < 0:  # killed from outside: what it logged last is not the reason
        return f"signal {-status}"
    return f"exit {status}: {last_words}" if last_words else f"exit {status}"
