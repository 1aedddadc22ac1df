"""Keep one part alive: start it again when it dies, with growing pauses and a line why."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NoReturn, Protocol

from controller.errors import LocalError

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 30.0
HEALTHY_SECONDS = 60.0
"""After so long a run the pauses begin anew."""


class Part(Protocol):
    """What the keeper needs of a part: ergo and the controller are such."""

    @property
    def name(self) -> str: ...

    async def start(self) -> None: ...

    async def wait(self) -> int: ...

    def last_words(self) -> str: ...


async def keep(part: Part, say: Callable[[str], None]) -> NoReturn:
    """Watch a started part for ever."""
    loop = asyncio.get_running_loop()
    pause = FIRST_PAUSE_SECONDS
    started = loop.time()
    while True:
        reason = _describe(await part.wait(), part.last_words())
        if loop.time() - started > HEALTHY_SECONDS:
            pause = FIRST_PAUSE_SECONDS
        while True:
            say(f"{part.name} ended ({reason}); starting it again in {pause:g} s")
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
            try:
                await part.start()
            except LocalError as error:
                reason = str(error)
            else:
                break
        say(f"{part.name} runs again")
        started = loop.time()


def _describe(status: int, last_words: str) -> str:
    if status < 0:  # killed from outside: what it logged last is not the reason
        return f"signal {-status}"
    return f"exit {status}: {last_words}" if last_words else f"exit {status}"
