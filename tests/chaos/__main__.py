"""`make chaos`: kills, freezes and cuts while people work, and a ledger of what became of it.

CHAOS_ROUNDS  how often each kind of fault strikes (default 5); controller and ergo kills are two
              of the kinds
CHAOS_SEED    the script, the faults and their moments (default 1)
CHAOS_FAULTS  kinds of faults, comma-separated (default all)
CHAOS_KEEP    a folder to run in and to leave behind, for whoever looks for a defect
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from random import Random

from controller.local.ergo_binary import find_or_build, say_on_stderr
from tests.chaos.campaign import Outcome, Plan, carry_out
from tests.chaos.faults import Fault
from tests.chaos.report import text

LINES = 200


def plan_from(env: Mapping[str, str]) -> Plan:
    """As the environment asks."""
    seed, rounds = int(env.get("CHAOS_SEED", "1")), int(env.get("CHAOS_ROUNDS", "5"))
    wanted = [Fault(name.strip()) for name in env.get("CHAOS_FAULTS", "").split(",") if name]
    faults = [fault for fault in wanted or Fault for _ in range(rounds)]
    Random(seed).shuffle(faults)
    return Plan(seed, int(env.get("CHAOS_LINES", str(LINES))), faults)


def main(env: Mapping[str, str]) -> int:
    """The exit code: 0 only if nothing was lost, doubled or drifted, and all healed."""
    binary = find_or_build(env, say_on_stderr)
    with tempfile.TemporaryDirectory(prefix="ergonaut-chaos-") as folder:
        outcome = _run(plan_from(env), binary, Path(env.get("CHAOS_KEEP", folder)))
    sys.stdout.write(f"{text(outcome)}\n")
    return 0 if outcome.good else 1


def _run(plan: Plan, binary: Path, root: Path) -> Outcome:
    return asyncio.run(carry_out(plan, binary, root))


if __name__ == "__main__":
    sys.exit(main(os.environ))
