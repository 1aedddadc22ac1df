"""End the workers of a home. They outlive a controller on purpose, but not the whole local run."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from controller.spawner.locks import TaskLock

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TERM_SECONDS = 3.0
KILL_SECONDS = 1.0
_POLL_SECONDS = 0.02


async def end_workers(run: Path) -> None:
    """SIGTERM to each live one, then SIGKILL to its session. Nothing may spawn meanwhile."""
    living = await asyncio.to_thread(_living, run)
    for pid in living.values():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    await _until_gone(living, TERM_SECONDS)
    for pid in living.values():
        with suppress(ProcessLookupError):  # what it started may have outlived it
            os.killpg(pid, signal.SIGKILL)
    await _until_gone(living, KILL_SECONDS)
    for lock in living:
        lock.pid_path.unlink(missing_ok=True)


def _living(run: Path) -> dict[TaskLock, int]:
    held = [lock for lock in TaskLock.all(run) if lock.look().held]
    holders = ((lock, lock.holder()) for lock in held)
    return {lock: pid for lock, pid in holders if pid is not None}


async def _until_gone(living: Mapping[TaskLock, int], seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while any(lock.look().held for lock in living):  # noqa: ASYNC110  (a lock has no event)
                await asyncio.sleep(_POLL_SECONDS)
