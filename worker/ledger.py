"""What of the task's totals the controller still has to hear: changes, seldom mid-run. Pure."""

from __future__ import annotations

from shared.directives import Meta
from shared.task import Usage

REPORT_EVERY_SECONDS = 60.0
"""Each `[meta]` is a line in the room, so during a run they come no oftener than this."""


class Ledger:
    """`usage` = the totals of the attempts before, which the controller has."""

    def __init__(self, usage: Usage) -> None:
        self.usage = usage
        self._reported = usage
        self._reported_at: float | None = None

    def note(self, usage: Usage, now: float) -> list[Meta]:
        """New totals in the middle of a run."""
        self.usage = usage
        if self._reported_at is None:
            self._reported_at = now
        if now - self._reported_at < REPORT_EVERY_SECONDS:
            return []
        return self.report(now)

    def report(self, now: float) -> list[Meta]:
        """Everything that changed since the last report."""
        old, new = _values(self._reported), _values(self.usage)
        self._reported, self._reported_at = self.usage, now
        return [Meta(key, value) for key, value in new.items() if value != old[key]]


def _values(usage: Usage) -> dict[str, str]:
    return {
        "cost_usd": f"{usage.cost_usd:.4f}",
        "tokens_in": str(usage.tokens_in),
        "tokens_out": str(usage.tokens_out),
        "tokens_cached": str(usage.tokens_cached),
        "turns": str(usage.turns),
    }
