"""What a worker does side by side, until it leaves: each duty a task, and no defect in silence."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any

from shared.irc_client import LoginRefused
from worker import farewells
from worker.effects import Leave
from worker.errors import ExitCode, RoomClosed

_log = logging.getLogger(__name__)

Duty = Coroutine[Any, Any, None]


class _Left(Exception):
    """Ends the duties of a worker whose work is done."""


class Duties:
    """One task group; `leave` ends it."""

    def __init__(self) -> None:
        self._group = asyncio.TaskGroup()
        self._left: asyncio.Future[Leave] = asyncio.get_running_loop().create_future()

    @property
    def over(self) -> bool:
        """It was decided how to leave."""
        return self._left.done()

    def start(self, duty: Duty) -> None:
        self._group.create_task(self._guarded(duty))

    def leave(self, leave: Leave) -> None:
        """The first call decides."""
        if not self._left.done():
            self._left.set_result(leave)

    async def run(
        self, first: Iterable[Duty], goodbye: Callable[[Leave], Awaitable[None]]
    ) -> ExitCode:
        """Until `leave`; then the goodbye, and all that still runs is cancelled.

        Raises LoginRefused and RoomClosed, each in an ExceptionGroup.
        """
        try:
            async with self._group:
                for duty in first:
                    self.start(duty)
                await goodbye(await self._left)
                raise _Left
        except* _Left:
            pass
        return self._left.result().code

    async def _guarded(self, duty: Duty) -> None:
        try:
            await duty
        except (LoginRefused, RoomClosed):
            raise
        except Exception as error:
            _log.exception("a defect of the worker")
            self.leave(farewells.broken(error))
