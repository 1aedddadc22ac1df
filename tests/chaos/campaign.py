"""One run from beginning to end: parts, people, a script, faults, and what is left of it all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from shared.irc_client import IrcError
from tests.chaos.evidence import gather
from tests.chaos.faults import Fault, Striker, Struck
from tests.chaos.parts import PROGRAM, Parts, parts_running
from tests.chaos.people import Person
from tests.chaos.script import PEOPLE, Story, make_script
from tests.chaos.stories import Pace, Played, Stage, play
from tests.chaos.verdict import Verdict, judge
from tests.chaos.watch import Watch

PROBER = "prober"
QUIET_SECONDS = 45.0
"""How long everything may take to come to rest after the last line."""
AT_ONCE = 8
"""Stories side by side."""


@dataclass(frozen=True)
class Plan:
    """What is to be done."""

    seed: int
    size: int
    """Lines of the script."""
    faults: Sequence[Fault]
    program: tuple[str, ...] = PROGRAM


@dataclass
class Outcome:
    """How it went."""

    plan: Plan
    struck: list[Struck]
    verdict: Verdict
    scripted: int
    stories: int
    seconds: float
    starts: dict[str, int] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        return self.verdict.clean and all(s.healed is not None for s in self.struck)


async def carry_out(plan: Plan, binary: Path, root: Path) -> Outcome:
    """Play, strike, wait for rest, judge."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    small_disk = Fault.DISK_FULL in plan.faults
    async with parts_running(binary, root, plan.program, small_disk=small_disk) as parts:
        watch = Watch(parts.address)
        people = {
            name: Person.of(name, await parts.add_account(name), parts.address, watch)
            for name in (*PEOPLE, PROBER)
        }
        async with asyncio.TaskGroup() as background:
            tasks = [background.create_task(parts.keep_running())]
            tasks.append(background.create_task(watch.run()))
            tasks += [background.create_task(person.run()) for person in people.values()]
            try:
                outcome = await _campaign(plan, parts, watch, people)
            finally:
                for task in tasks:
                    task.cancel()
    outcome.seconds = loop.time() - started
    return outcome


async def _campaign(plan: Plan, parts: Parts, watch: Watch, people: dict[str, Person]) -> Outcome:
    script = make_script(plan.seed, plan.size)
    pace = Pace()
    striker = Striker(parts, watch, people[PROBER], pace, Random(plan.seed))
    stage = Stage(people, watch, pace, parts.home.workspaces)
    played = [Played(story) for story in script]
    async with asyncio.TaskGroup() as group:
        group.create_task(_play_all(stage, played))
        lines = sum(story.size for story in script)
        await striker.strike_all(list(plan.faults), 0.9 * lines / max(1, len(plan.faults)))
        pace.open()
    verdict = await _verdict_at_rest(parts, watch, people, played)
    return Outcome(plan, striker.struck, verdict, pace.said, len(script), 0.0, dict(parts.starts))


async def _play_all(stage: Stage, played: Sequence[Played]) -> None:
    """Some side by side, the next when one has ended."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one(which: Played) -> None:
        async with room:
            await play(stage, which)

    async with asyncio.TaskGroup() as group:
        for which in played:
            group.create_task(one(which))


async def _verdict_at_rest(
    parts: Parts, watch: Watch, people: dict[str, Person], played: Sequence[Played]
) -> Verdict:
    """What is still under way is no fault: judged again until it is clean or time is up."""
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + QUIET_SECONDS
    verdict = Verdict(lost=["nothing could be read back"])
    while loop.time() < ends_at:
        try:
            evidence = await gather(parts, watch, people.values())
        except IrcError:
            await asyncio.sleep(1.0)
            continue
        verdict = judge(evidence, played)
        if verdict.clean:
            break
        await asyncio.sleep(1.0)
    return verdict


def storyline(script: Sequence[Story]) -> list[str]:
    """The script in words, for whoever looks for a defect."""
    return [f"{s.name} ({s.owner}): {type(a).__name__} {a}" for s in script for a in s.acts]
