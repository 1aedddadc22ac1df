from __future__ import annotations

from shared.directives import Meta
from shared.task import Usage
from worker.ledger import REPORT_EVERY_SECONDS, Ledger


def test_totals_are_reported_when_they_change_and_seldom_during_a_run() -> None:
    ledger = Ledger(Usage(turns=3))
    assert ledger.note(Usage(turns=4), 0.0) == []
    assert ledger.note(Usage(turns=5, tokens_in=7), REPORT_EVERY_SECONDS) == [
        Meta("tokens_in", "7"),
        Meta("turns", "5"),
    ]
    assert ledger.note(Usage(turns=6, tokens_in=7), REPORT_EVERY_SECONDS + 1) == []
    usage = Usage(cost_usd=0.12345, turns=6, tokens_in=7)
    ledger.note(usage, REPORT_EVERY_SECONDS + 2)
    assert ledger.report(70.0) == [Meta("cost_usd", "0.1235"), Meta("turns", "6")]
    assert ledger.report(71.0) == []
