"""How long and for how much money a worker may work before it asks; one more of each on request.

Working time counts only while the agent runs, so a worker that waits uses none. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from shared.task import Why


@dataclass(frozen=True, slots=True)
class Allowances:
    """What one grant is."""

    working_seconds: float
    budget_usd: float
    """For the whole task; 0 = no bound."""
    turns: int
    """Of one run, counted by the agent."""


@dataclass(frozen=True, slots=True)
class Exceeded:
    """Which bound was hit, in words for people."""

    why: Why
    detail: str


class Meter:
    """Counts against the allowances, and grants more."""

    def __init__(self, allowances: Allowances) -> None:
        self._grant = allowances
        self._seconds_left = allowances.working_seconds
        self._running_since: float | None = None
        self._budget_usd = allowances.budget_usd
        self._budget_raised = False

    def start(self, now: float) -> None:
        self._running_since = now

    def pause(self, now: float) -> None:
        if self._running_since is not None:
            self._seconds_left -= now - self._running_since
        self._running_since = None

    def deadline(self) -> float | None:
        """When the working time of the running turn is over; None while nothing runs."""
        return None if self._running_since is None else self._running_since + self._seconds_left

    def exceeded(self, spent_usd: float, now: float) -> Exceeded | None:
        deadline = self.deadline()
        if deadline is not None and now >= deadline:
            minutes = self._grant.working_seconds / 60
            return Exceeded(Why.DEADLINE, f"the working time of {minutes:g} minutes is used up")
        if self._budget_usd and spent_usd >= self._budget_usd:
            text = f"the budget of ${self._budget_usd:.2f} is used up (${spent_usd:.2f} spent)"
            return Exceeded(Why.BUDGET, text)
        return None

    def raise_budget(self, usd: float) -> None:
        """The requester said `!budget`."""
        self._budget_usd = usd
        self._budget_raised = True

    def grant(self, why: Why, spent_usd: float) -> str:
        """One more allowance of what was used up; in words, "" where nothing was granted."""
        raised, self._budget_raised = self._budget_raised, False
        match why:
            case Why.DEADLINE:
                self._seconds_left = self._grant.working_seconds
                return f"{self._grant.working_seconds / 60:g} more minutes of working time"
            case Why.BUDGET if raised and spent_usd < self._budget_usd:
                return f"the budget is ${self._budget_usd:.2f} now"
            case Why.BUDGET:
                self._budget_usd = spent_usd + self._grant.budget_usd
                return f"${self._grant.budget_usd:.2f} more, ${self._budget_usd:.2f} in all"
            case Why.TURNS:
                return f"{self._grant.turns} more turns"
            case _:
                return ""
