from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.board import Board
from controller.nicks import Pool
from controller.reconciler import (
    Adopt,
    Dismiss,
    End,
    Gone,
    Lost,
    Orphan,
    Start,
    StartAgain,
    Stuck,
    dispatch,
    plan,
)
from controller.spawner import WorkerList, WorkerRef, WorkerSeen, WorkerState
from shared.task import Run, Status, Task, Times
from tests.support.core_story import NOW, SETTINGS

RUN = Run(1, "HAL-9000", "job-1", "agent", joined=NOW - 50)


def task(number: int, status: Status = Status.READY, since: int = NOW - 100, **more: Any) -> Task:
    channel = f"#task-{number}"
    more.setdefault("requester", "alice")
    return Task(channel, status=status, times=Times(1, {status: since}), **more)


def row(number: int, attempt: int = 1, cause: str | None = None, job: str = "job-1") -> WorkerSeen:
    state = WorkerState.RUNNING if cause is None else WorkerState.ENDED
    return WorkerSeen(WorkerRef(number, attempt, job), state, cause or "")


def board_of(*tasks: Task, workers: tuple[WorkerSeen, ...] = (), complete: bool = True) -> Board:
    board = Board()
    for one in tasks:
        board.put(one)
    board.pool = Pool(("HAL-9000", "GLaDOS"))
    board.listed(WorkerList(workers, complete), NOW)
    return board


def starts(board: Board, **limits: Any) -> list[int]:
    found = dispatch(board, replace(SETTINGS, **limits), NOW)
    return [int(f.channel.removeprefix("#task-")) for f in found if isinstance(f, Start)]


def test_the_queue_is_front_then_priority_then_age_then_number() -> None:
    board = board_of(
        task(1, since=NOW - 10),
        task(2, since=NOW - 20),
        task(3, since=NOW - 20),
        task(4, priority=1, since=NOW - 1),
        task(5, run=Run(front=NOW - 2)),
        task(6, run=Run(front=NOW - 3)),
    )
    assert starts(board, max_active_total=9, max_active_per_requester=9) == [6, 5, 4, 2, 3, 1]


def test_both_caps_gate_starts() -> None:
    board = board_of(
        task(1, Status.IN_PROGRESS, run=RUN),
        task(2),
        task(3),
        task(4, requester="bob"),
        workers=(row(1),),
    )
    assert starts(board, max_active_total=1) == []
    assert starts(board, max_active_total=2) == [2]
    assert starts(board, max_active_total=9, max_active_per_requester=2) == [2, 4]
    assert starts(board, max_active_total=9, max_active_per_requester=1) == [4]
    assert starts(board, max_active_total=0) == []


@pytest.mark.parametrize("status", [Status.BLOCKED, Status.FOR_REVIEW])
def test_a_worker_that_waits_holds_no_slot(status: Status) -> None:
    board = board_of(task(1, status, run=RUN), task(2), workers=(row(1),))
    assert starts(board, max_active_total=1) == [2]


def test_a_human_holds_no_slot() -> None:
    run = Run(spawned="human")
    board = board_of(task(1, Status.IN_PROGRESS, run=run), task(2))
    assert starts(board, max_active_total=1) == [2]


@pytest.mark.parametrize(
    ("status", "started"),
    [(Status.IN_PROGRESS, [3]), (Status.DONE, [2, 3]), (Status.ARCHIVED, [2, 3])],
)
def test_a_task_waits_for_those_that_block_it(status: Status, started: list[int]) -> None:
    board = board_of(
        task(1, status, run=Run(spawned="human")),
        task(2, blocked_by=("#task-1", "#task-99")),
        task(3),
    )
    assert starts(board) == started


@pytest.mark.parametrize(
    ("workers", "complete"),
    [
        pytest.param((), False, id="the list is not complete"),
        pytest.param((row(1, 1),), True, id="an earlier attempt runs"),
    ],
)
def test_nothing_is_started_without_proof_that_it_runs_nowhere(
    workers: tuple[WorkerSeen, ...], complete: bool
) -> None:
    ended = replace(RUN, exited="killed")
    board = board_of(task(1, run=ended), workers=workers, complete=complete)
    assert starts(board) == []


def test_nothing_is_started_before_a_list_is_there() -> None:
    board = Board()
    board.put(task(1))
    assert starts(board) == []


def test_a_list_from_before_a_start_proves_nothing() -> None:
    board = board_of(task(1, Status.IN_PROGRESS, run=RUN))
    board.live("#task-1").started_at = NOW
    assert plan(board, SETTINGS, NOW) == []
    board.live("#task-1").started_at = NOW - 1
    assert plan(board, SETTINGS, NOW) == [Gone("#task-1", "")]


@pytest.mark.parametrize(
    ("run", "workers", "found"),
    [
        pytest.param(RUN, (row(1),), [], id="it runs"),
        pytest.param(RUN, (), [Gone("#task-1", "")], id="it is nowhere"),
        pytest.param(RUN, (row(1, cause="oom"),), [Gone("#task-1", "oom")], id="it has ended"),
        pytest.param(Run(1, "HAL-9000", spawned="agent"), (), [StartAgain("#task-1")],
                     id="it was never seen"),
        pytest.param(Run(1, "HAL-9000", spawned="agent"), (row(1),), [Adopt("#task-1", "job-1")],
                     id="it runs unknown to us"),
        pytest.param(replace(RUN, worker="Marvin"), (row(1),), [Adopt("#task-1", "job-1")],
                     id="its name is not listed"),
        pytest.param(replace(RUN, exited="oom"), (), [Lost("#task-1", "oom")],
                     id="its end is known and nothing came of it"),
        pytest.param(Run(1, spawned="human"), (), [], id="a person has it"),
    ],
)  # fmt: skip
def test_what_a_sweep_finds_of_a_task_in_progress(
    run: Run, workers: tuple[WorkerSeen, ...], found: list[object]
) -> None:
    board = board_of(task(1, Status.IN_PROGRESS, run=run), workers=workers)
    assert plan(board, SETTINGS, NOW) == found


@pytest.mark.parametrize("status", [Status.DONE, Status.ARCHIVED])
def test_a_worker_whose_task_is_over_is_told_so_once(status: Status) -> None:
    board = board_of(task(1, status, NOW - 1, run=RUN), workers=(row(1),))
    assert plan(board, SETTINGS, NOW) == [Dismiss("#task-1")]
    board.live("#task-1").dismissed = True
    assert plan(board, SETTINGS, NOW) == []


@pytest.mark.parametrize(
    ("status", "seconds", "ended"),
    [
        (Status.DONE, 59, False),
        (Status.DONE, 60, True),
        (Status.ARCHIVED, 60, True),
        (Status.READY, 60, True),
        (Status.FOR_REVIEW, 9999, False),
        (Status.BLOCKED, 9999, False),
    ],
)
def test_a_worker_that_must_leave_is_ended_after_a_minute(
    status: Status, seconds: int, ended: bool
) -> None:
    board = board_of(task(1, status, NOW - seconds, run=RUN), workers=(row(1),))
    found = [f for f in plan(board, SETTINGS, NOW) if isinstance(f, End)]
    assert bool(found) == ended


def test_a_killed_worker_is_ended_at_once_and_again_after_a_minute() -> None:
    killed = task(1, Status.BLOCKED, run=RUN, reason="killed: by alice")
    board = board_of(killed, workers=(row(1),))
    end = End(row(1).ref, "#task-1", "killed")
    assert plan(board, SETTINGS, NOW) == [end]
    board.live("#task-1").ending_at = NOW
    assert plan(board, SETTINGS, NOW + 59) == []
    assert plan(board, SETTINGS, NOW + 60) == [end]


@pytest.mark.parametrize(
    ("joined", "seconds", "why"),
    [
        (None, 299, None),
        (None, 300, "error"),
        (NOW - 2000, 899, None),
        (NOW - 2000, 900, "vanished"),
    ],
)
def test_a_worker_that_stays_away_from_its_room_is_ended(
    joined: int | None, seconds: int, why: str | None
) -> None:
    run = replace(RUN, joined=joined)
    board = board_of(task(1, Status.IN_PROGRESS, run=run), workers=(row(1),))
    board.live("#task-1").absent_since = NOW - seconds
    found = plan(board, SETTINGS, NOW)
    assert found == ([End(row(1).ref, "#task-1", why)] if why else [])


def test_a_worker_of_nobody_is_reported_and_then_ended() -> None:
    board = board_of(workers=(row(7), row(8, cause="error")))
    assert plan(board, SETTINGS, NOW) == [Orphan(row(7).ref)]
    board.orphans[row(7).ref] = NOW
    assert plan(board, SETTINGS, NOW + 299) == []
    assert plan(board, SETTINGS, NOW + 300) == [End(row(7).ref, None, "orphan")]


def test_a_task_that_waits_long_for_an_earlier_worker_is_found() -> None:
    board = board_of(task(1, run=replace(RUN, exited="killed")), workers=(row(1),))
    board.live("#task-1").stuck_since = NOW
    assert Stuck("#task-1") not in plan(board, SETTINGS, NOW + 299)
    assert Stuck("#task-1") in plan(board, SETTINGS, NOW + 300)
