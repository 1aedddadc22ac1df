"""How a local run takes the signals that end it: all of them alike, and never half way."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import NoReturn

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Outside a loop: any ending signal acts like Ctrl-C, which ends a build under way too."""

    def interrupt(_number: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@asynccontextmanager
async def until_signalled(stop: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """In a loop: an ending signal cancels the block; then `stop` runs, come what may."""
    task = asyncio.current_task()
    assert task is not None
    _on_signal(task.cancel)
    try:
        yield
    finally:
        _on_signal(_wait_for_the_end)
        while task.cancelling():  # before 3.11.3 no timeout works in a task that is cancelled
            task.uncancel()
        await stop()


def _on_signal(act: Callable[[], object]) -> None:
    loop = asyncio.get_running_loop()
    for number in _ENDING:
        loop.add_signal_handler(number, act)


def _wait_for_the_end() -> None:
    """A second Ctrl-C must not leave parts behind."""
