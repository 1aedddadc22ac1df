"""Waiting in tests for what has no event: bounded, and no longer than needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def until(holds: Callable[[], bool], seconds: float = 10.0) -> None:
    """Return as soon as `holds()`; TimeoutError after `seconds`."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110  (files and processes of others have no event)
            await asyncio.sleep(0.02)
