"""The runs of one attempt as an account: what runs, what it uses up, what was reported. Pure."""

from __future__ import annotations

from shared.directives import Meta
from shared.task import Usage, Why
from worker.allowance import Allowances, Exceeded, Meter
from worker.ledger import Ledger


class Work:
    """`usage` = totals of the attempts before."""

    def __init__(self, allowances: Allowances, usage: Usage) -> None:
        self._meter = Meter(allowances)
        self._ledger = Ledger(usage)
        self.running = False
        self.exceeded: Exceeded | None = None
        """The bound for which the run is being aborted."""

    def begin(self, now: float) -> None:
        self.running = True
        self._meter.start(now)

    def over(self, now: float) -> None:
        self.running = False
        self._meter.pause(now)

    def deadline(self) -> float | None:
        """When the bound on working time will be hit; None: nothing runs, or it is hit."""
        return None if self.exceeded else self._meter.deadline()

    def hits_bound(self, now: float) -> bool:
        """True once: the run has to be aborted."""
        if not self.running or self.exceeded:
            return False
        self.exceeded = self._meter.exceeded(self._ledger.usage.cost_usd, now)
        return self.exceeded is not None

    def take_exceeded(self) -> Exceeded | None:
        exceeded, self.exceeded = self.exceeded, None
        return exceeded

    def raise_budget(self, usd: float) -> None:
        self._meter.raise_budget(usd)

    def grant(self, why: Why) -> str:
        """One more allowance of what was used up, in words; "" if nothing was."""
        return self._meter.grant(why, self._ledger.usage.cost_usd)

    def note(self, usage: Usage, now: float) -> list[Meta]:
        """New totals; what of them is due to be reported."""
        return self._ledger.note(usage, now)

    def report(self, now: float) -> list[Meta]:
        """All that is not reported yet."""
        return self._ledger.report(now)
