"""`make chaos`: kills, freezes and cuts while people work, and a ledger of what became of it.

CHAOS_ROUNDS  how often the controller and ergo are each killed (default 5); every other kind of
              fault strikes a fifth as often, at least once, but a full disk only where it is named.
              From 50 on the controller that is frozen beside its replacement is so for a minute
CHAOS_SEED    the script, the faults and their moments (default 1)
CHAOS_LINES   how much people say (default 200)
CHAOS_FAULTS  only these kinds, comma-separated, each CHAOS_ROUNDS times
CHAOS_KEEP    a folder to run in and to leave behind, for whoever looks for a defect

`--write` writes docs/reliability.md from the result, good or bad.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

from controller.local.ergo_binary import find_or_build, say_on_stderr
from tests.chaos.campaign import Plan, carry_out
from tests.chaos.faults import Fault
from tests.chaos.report import Result, document, text
from tests.chaos.scenes import Thawed, frozen_beside_a_replacement, scene

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
LINES = 200
UNASKED = tuple(fault for fault in Fault if fault is not Fault.DISK_FULL)
"""A full disk needs the right to mount, so it comes only by its name."""
OFTEN = (Fault.CONTROLLER_KILLED, Fault.ERGO_KILLED)
LONG_ROUNDS = 50
FROZEN_SECONDS = 6.0
LONG_FROZEN_SECONDS = 60.0


def plan_from(env: Mapping[str, str]) -> Plan:
    """As the environment asks."""
    seed, rounds = int(env.get("CHAOS_SEED", "1")), int(env.get("CHAOS_ROUNDS", "5"))
    only = [Fault(name.strip()) for name in env.get("CHAOS_FAULTS", "").split(",") if name]
    seldom = max(1, rounds // 5)
    times = {f: rounds if f in OFTEN or only else seldom for f in only or UNASKED}
    faults = [fault for fault, count in times.items() for _ in range(count)]
    Random(seed).shuffle(faults)
    return Plan(seed, int(env.get("CHAOS_LINES", str(LINES))), faults)


def main(arguments: Sequence[str], env: Mapping[str, str]) -> int:
    """The exit code: 0 only if nothing was lost, doubled or drifted, and all healed."""
    binary = find_or_build(env, say_on_stderr)
    long = int(env.get("CHAOS_ROUNDS", "5")) >= LONG_ROUNDS
    seconds = LONG_FROZEN_SECONDS if long else FROZEN_SECONDS
    with tempfile.TemporaryDirectory(prefix="ergonaut-chaos-") as folder:
        root = Path(env.get("CHAOS_KEEP", folder))
        outcome = asyncio.run(carry_out(plan_from(env), binary, root / "campaign"))
        thawed = asyncio.run(_frozen(binary, root / "frozen", seconds))
    result = Result(outcome, thawed, seconds)
    sys.stdout.write(f"{text(result)}\n")
    if "--write" in arguments:
        DOCUMENT.write_text(document(result))
    return 0 if result.good else 1


async def _frozen(binary: Path, root: Path, seconds: float) -> Thawed:
    async with scene(binary, root, MAX_ACTIVE_TOTAL="1") as stage:
        return await frozen_beside_a_replacement(stage, seconds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
