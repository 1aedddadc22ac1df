"""What tokens cost."""

from __future__ import annotations

import pytest

from tests.support.agent_bench import user
from worker.agent.cost import PRICES, Price, Totals, cost_usd, totals
from worker.agent.messages import AssistantMessage, StopReason, Usage

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("usage", "model", "usd"),
    [
        pytest.param(Usage(MILLION, MILLION), "claude-sonnet-5", 12.0, id="in and out"),
        pytest.param(Usage(0, 0, MILLION, MILLION), "claude-opus-5", 6.75, id="cache"),
        pytest.param(Usage(0, 0, 0, 0, MILLION), "claude-opus-5", 10.0, id="an hour of cache"),
        pytest.param(Usage(100_000), "claude-haiku-5-5", 0.01, id="short prompt"),
        pytest.param(Usage(0, 0, MILLION), "claude-haiku-5-5", 0.05, id="long prompt"),
        pytest.param(Usage(MILLION), "claude-sonnet-4-5-20250929", 3.0, id="dated name"),
        pytest.param(Usage(MILLION), "rehearsal", 0.0, id="rehearsal"),
        pytest.param(Usage(1), "gpt-oss", None, id="unknown"),
        pytest.param(Usage(), "gpt-oss", 0.0, id="unknown and unused"),
    ],
)
def test_a_reply_costs_by_the_table(usage: Usage, model: str, usd: float | None) -> None:
    assert cost_usd(usage, model) == (None if usd is None else pytest.approx(usd))


def test_an_operator_may_put_another_table_in_place() -> None:
    assert cost_usd(Usage(MILLION), "ours", {**PRICES, "ours": Price(7, 0, 0, 0)}) == 7


def test_totals_count_dropped_tries_and_are_unknown_with_one_unknown_price() -> None:
    known = AssistantMessage(
        (), StopReason.END_TURN, "claude-sonnet-5", Usage(MILLION), Usage(MILLION)
    )
    unknown = AssistantMessage((), StopReason.END_TURN, "gpt-oss", Usage(1))
    assert totals([user("hi"), known]) == Totals(Usage(2 * MILLION), 4.0)
    assert totals([known, unknown]) == Totals(Usage(2 * MILLION + 1), None)
