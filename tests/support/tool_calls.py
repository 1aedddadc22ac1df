"""Calls of tools as the agent loop makes them, and what they leave behind."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from worker.tools import ToolContext

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

Result = TypeVar("Result")


@dataclass
class Call:
    """The caller's side of one call: what it was told, and the way to stop it."""

    aborted: asyncio.Event = field(default_factory=asyncio.Event)
    updates: list[str] = field(default_factory=list)
    on_update: Callable[[str], None] | None = None
    """Called after the update was noted."""

    def context(self, call_id: str = "call-1") -> ToolContext:
        return ToolContext(call_id, self.aborted, self._note)

    def _note(self, text: str) -> None:
        self.updates.append(text)
        if self.on_update is not None:
            self.on_update(text)


def run_now(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """For tests that are otherwise plain code; leaves pytest-asyncio's own loop alone."""
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(coroutine)


def is_running(pid: int) -> bool:
    """A zombie is not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
