"""One signal that stops a run: it reaches the stream, the retry pause, hooks and tools alike."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Aborted(Exception):
    """The run was stopped while this was going on."""


class Abort:
    """The abort of one run; set once, never cleared."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self._scopes: dict[asyncio.Timeout, float] = {}

    @property
    def requested(self) -> bool:
        return self.event.is_set()

    def set(self) -> None:
        if self.requested:
            return  # a scope that is already expiring cannot be moved again
        self.event.set()
        now = asyncio.get_running_loop().time()
        for scope, grace_seconds in self._scopes.items():
            scope.reschedule(now + grace_seconds)

    @asynccontextmanager
    async def interruptible(self, grace_seconds: float = 0.0) -> AsyncIterator[None]:
        """Cancel the block `grace_seconds` after the abort and raise Aborted out of it."""
        if self.requested:
            raise Aborted
        # A timeout that is moved to "now" is exactly the cancellation that we need, and the
        # standard library tells it apart from a cancellation that comes from outside.
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._scopes[scope] = grace_seconds
                try:
                    yield
                finally:
                    del self._scopes[scope]
        except TimeoutError:
            if scope.expired():
                raise Aborted from None
            raise
