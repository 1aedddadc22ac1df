"""What a run may use up before it has to stop, and how it notices that it goes in circles."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from worker.agent.messages import ToolCall
    from worker.tools import ToolResult


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run."""

    turns: int = 200
    budget_usd: float | None = None
    """For the whole conversation, earlier runs included. None: no bound. A model whose price is
    unknown cannot be held to it."""
    equal_batches_notice: int = 3
    """The same calls with the same results this often in a row: the model is told."""
    equal_batches_stop: int = 6
    """This often: the run ends."""
    pauses: int = 8
    """How often in a row a reply may pause itself (pause_turn)."""
    abort_grace_seconds: float = 5.0
    """What a running tool gets to clean up after an abort before it is cancelled."""


class RepeatCounter:
    """Counts how often the same batch of calls gave the same results in a row.

    Results count too, because asking again is legal while the answers change (polling).
    """

    def __init__(self) -> None:
        self._last = ""
        self.last_count = 0

    def count(self, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> int:
        seen = json.dumps(
            [
                [[call.name, call.input, call.malformed] for call in calls],
                [[result.text, result.is_error] for result in results],
            ],
            sort_keys=True,
            default=str,
        )
        self.last_count = self.last_count + 1 if seen == self._last else 1
        self._last = seen
        return self.last_count


def repeat_notice(count: int) -> str:
    return (
        f"[Notice: these were the same calls with the same results {count} times in a row. "
        "Do something else, or ask.]"
    )
