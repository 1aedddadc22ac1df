from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from controller.lifecycle import HELPS, ROWS, TRANSITIONS, Along, By, Does, Moved, Refusal, apply
from shared.task import Reason, Run, Status, Task, Times, Why

ENTERED = {Status.PENDING: 100, Status.READY: 200}
TASK = Task("#task-1", requester="alice", times=Times(4, ENTERED), run=Run(attempt=1))
EVERY = list(product(Status, Status, By))
LEGAL = [row for row in TRANSITIONS if row.start is not None]


def name(value: object) -> str:
    return str(value)


def test_the_table_is_the_lifecycle_of_the_design() -> None:
    assert {f"{row.start or '-'} {row.to} {row.by}" for row in TRANSITIONS} == {
        "- pending person",
        "pending ready person",
        "ready pending person",
        "ready in_progress dispatcher",
        "in_progress in_progress worker",
        "in_progress blocked worker",
        "in_progress for_review worker",
        "in_progress ready controller",
        "in_progress blocked controller",
        "in_progress blocked person",
        "blocked blocked worker",
        "blocked blocked person",
        "blocked in_progress person",
        "blocked ready person",
        "for_review in_progress worker",
        "for_review in_progress person",
        "for_review ready person",
        "for_review blocked person",
        "for_review done person",
        "done ready person",
        "pending archived person",
        "ready archived person",
        "in_progress archived person",
        "blocked archived person",
        "for_review archived person",
        "done archived person",
    }


def test_no_row_stands_twice() -> None:
    assert len(ROWS) == len(TRANSITIONS)


@pytest.mark.parametrize("row", LEGAL, ids=lambda r: f"{r.start}-{r.to}-{r.by}")
def test_every_row_is_logged_before_anything_else(row: object) -> None:
    assert row.effects[0] is Does.LOG  # type: ignore[attr-defined]
    order = list(Does)
    places = [order.index(effect) for effect in row.effects]  # type: ignore[attr-defined]
    assert places == sorted(places)


@pytest.mark.parametrize(("start", "to", "by"), EVERY, ids=name)
def test_a_transition_is_in_the_table_or_changes_nothing(start: Status, to: Status, by: By) -> None:
    task = replace(TASK, status=start)
    moved = apply(task, to, by, 300.9)
    if (start, to, by) not in ROWS:
        assert moved == Refusal(start, HELPS[start])
        return
    assert isinstance(moved, Moved)
    assert moved.old == task
    if start is to is Status.IN_PROGRESS:
        assert moved.task == task
        return
    entered = dict(ENTERED)
    if by is not By.CONTROLLER or to is not Status.READY:
        entered[to] = 300
    assert moved.task == replace(task, status=to, times=Times(5, entered))


def test_a_refusal_names_the_state_and_what_would_help() -> None:
    refusal = apply(TASK, Status.DONE, By.PERSON, 300)
    assert str(refusal) == "it is a draft; what helps now: !ready, !desc, !archive"


def test_a_block_keeps_its_reason_and_the_next_state_drops_it() -> None:
    working = replace(TASK, status=Status.IN_PROGRESS)
    reason = Reason(Why.QUESTION, "Which season?")
    blocked = apply(working, Status.BLOCKED, By.WORKER, 300, Along(reason=reason))
    assert isinstance(blocked, Moved)
    assert blocked.task.reason == "question: Which season?"
    resumed = apply(blocked.task, Status.IN_PROGRESS, By.PERSON, 400)
    assert isinstance(resumed, Moved)
    assert resumed.task.reason is None


def test_a_start_that_was_refused_keeps_its_place_in_the_queue() -> None:
    back = apply(replace(TASK, status=Status.IN_PROGRESS), Status.READY, By.CONTROLLER, 900)
    assert isinstance(back, Moved)
    assert back.task.times.entered[Status.READY] == 200
