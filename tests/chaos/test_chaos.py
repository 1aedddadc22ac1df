"""The short form of `make chaos`: every kind of story, every kind of fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.__main__ import UNASKED
from tests.chaos.campaign import Plan, carry_out
from tests.chaos.faults import Fault
from tests.chaos.report import campaign_text

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


async def test_nothing_is_lost_doubled_or_drifted_under_fire(
    ergo_binary: Path, tmp_path: Path
) -> None:
    plan = Plan(seed=7, size=45, faults=UNASKED)
    outcome = await carry_out(plan, ergo_binary, tmp_path / "home")
    assert outcome.good, campaign_text(outcome)
    assert {struck.fault for struck in outcome.struck} >= {
        Fault.CONTROLLER_KILLED,
        Fault.ERGO_KILLED,
    }
