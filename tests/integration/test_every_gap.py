"""Killed in any gap of any transition, the next controller comes to the same end. The gaps are
those of the transition table: a row without a case fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from controller.lifecycle import ROWS
from shared.task import Status
from tests.support.ergo_server import ErgoServer
from tests.support.gap_stage import GapStage, Outcome, Subject, gap_stage
from tests.support.gap_table import CASES, Gaps, gap_table

Ergos = Callable[[], Awaitable[ErgoServer]]


def test_every_row_of_the_table_has_a_case() -> None:
    assert CASES.keys() == ROWS.keys()


def test_the_table_of_gaps_is_that_of_the_transitions() -> None:
    rows = [gaps.row for gaps in gap_table()]
    assert set(rows) == set(ROWS.values())
    assert all(gaps.end.status == gaps.row.to for gaps in gap_table())


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("start", [None, *(s for s in Status if s is not Status.ARCHIVED)], ids=str)
async def test_a_kill_in_any_gap_changes_nothing_of_the_end(
    private_ergo: Ergos, start: Status | None
) -> None:
    """The rows from one state side by side, each on a server of its own."""
    table = [gaps for gaps in gap_table() if gaps.row.start is start]
    async with asyncio.TaskGroup() as group:
        runs = [(gaps, group.create_task(_run(await private_ergo(), gaps))) for gaps in table]
    assert {gaps.name: found for gaps, run in runs if (found := run.result())} == {}


async def _run(ergo: ErgoServer, gaps: Gaps) -> list[str]:
    """What differs from the run without a kill."""
    count = len(gaps.effects)
    subjects = [Subject(f"killed after {n} of {count}") for n in range(count + 1)]
    async with gap_stage(ergo) as stage:
        await _prepare(stage, gaps, subjects)
        await _kill_in_gaps(stage, gaps, subjects)
        await _heal(stage, gaps, subjects)
        outcomes = await stage.outcomes(subjects)
        assert stage.engine.doubled == []
        assert set(stage.engine.starts.values()) <= {1}
    return [
        f"{subject.title}: {outcome}"
        for subject, outcome in zip(subjects, outcomes, strict=True)
        if outcome != _wanted(gaps, subject, outcome)
    ]


def _wanted(gaps: Gaps, subject: Subject, found: Outcome) -> Outcome:
    lives = gaps.end.attempt > 0 and gaps.end.exited is None
    return Outcome(
        facts=gaps.end,
        topic=f"[{gaps.end.status}] {subject.title}",
        moderated=gaps.end.status == Status.BLOCKED,
        events=gaps.events,
        answers=gaps.answers,
        workers=found.workers if lives and len(found.workers) == 1 else (),
        heard=gaps.heard,
    )


async def _prepare(stage: GapStage, gaps: Gaps, subjects: list[Subject]) -> None:
    if not gaps.case.before:
        return
    await stage.live(starts=gaps.case.needs_worker)
    for step, facts in zip(gaps.case.before, gaps.after_steps, strict=True):
        await stage.play(subjects, step)
        if not subjects[0].channel:
            await stage.quiet()
            await stage.find(subjects)
            await stage.enter(subjects)
        if facts is not None:
            await stage.until(subjects, facts)
    await stage.quiet()
    await stage.die()


async def _kill_in_gaps(stage: GapStage, gaps: Gaps, subjects: list[Subject]) -> None:
    held = await stage.live(starts=gaps.case.starts)
    held.arm({s.channel or s.title: n for n, s in enumerate(subjects)})
    await stage.play(subjects, gaps.case.trigger)
    await held.all_held()
    assert held.effects_of(subjects[-1].channel or subjects[-1].title) == gaps.kinds
    await stage.quiet()
    await stage.die()


async def _heal(stage: GapStage, gaps: Gaps, subjects: list[Subject]) -> None:
    await stage.live(starts=gaps.case.starts)
    await stage.find(subjects)
    await stage.enter(subjects)
    await stage.until(subjects, gaps.end)
    await stage.quiet()
