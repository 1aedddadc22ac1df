"""The one place where a Status changes: a table, and `apply` over it (design 5). Pure.

docs/task-states.md is generated from TRANSITIONS; `transition.py` carries the effects out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from shared.task import Reason, Run, Status, Task, Times


class By(StrEnum):
    """Who asks for a transition."""

    PERSON = "person"
    """A command, or a line that wakes."""
    DISPATCHER = "dispatcher"
    WORKER = "worker"
    CONTROLLER = "controller"
    """What the sweep finds: a start refused, a worker gone."""


class Does(StrEnum):
    """What a transition does, in this order."""

    LOG = "event on #firehose"
    STATE = "METADATA"
    SPAWN = "account and worker started"
    TOPIC = "topic"
    MODERATE = "+M"
    UNMODERATE = "-M"
    RESUME = "[resume] to the worker"
    LEAVE = "[leave] to a live worker"
    KILL = "worker ended"


@dataclass(frozen=True, slots=True)
class Row:
    """One legal transition."""

    start: Status | None
    """None = the task is new."""
    to: Status
    by: By
    when: str
    """In words, for the documentation."""
    effects: tuple[Does, ...]


_MOVE = (Does.LOG, Does.STATE, Does.TOPIC)
_P, _R, _I = Status.PENDING, Status.READY, Status.IN_PROGRESS
_B, _V, _D, _A = Status.BLOCKED, Status.FOR_REVIEW, Status.DONE, Status.ARCHIVED
_BLOCK = (*_MOVE, Does.MODERATE)
_UNBLOCK = (*_MOVE, Does.UNMODERATE)

TRANSITIONS: tuple[Row, ...] = (
    Row(None, _P, By.PERSON, "!new", _MOVE),
    Row(_P, _R, By.PERSON, "!ready", _MOVE),
    Row(_R, _P, By.PERSON, "!unready", _MOVE),
    Row(_R, _I, By.DISPATCHER, "a slot is free", (Does.LOG, Does.STATE, Does.SPAWN, Does.TOPIC)),
    Row(_I, _I, By.WORKER, "a turn begins", (Does.LOG,)),
    Row(_I, _B, By.WORKER, "it asks, or a bound is reached", _BLOCK),
    Row(_I, _V, By.WORKER, "handed in", _MOVE),
    Row(_I, _R, By.CONTROLLER, "start refused for now, or worker lost: again", _MOVE),
    Row(_I, _B, By.CONTROLLER, "worker failed, or lost twice", _BLOCK),
    Row(_I, _B, By.PERSON, "!kill", (*_BLOCK, Does.KILL)),
    Row(_B, _B, By.WORKER, "another reason", _BLOCK),
    Row(_B, _B, By.PERSON, "!kill", (*_BLOCK, Does.KILL)),
    Row(_B, _I, By.PERSON, "an answer or !reopen, worker there", (*_UNBLOCK, Does.RESUME)),
    Row(_B, _R, By.PERSON, "an answer or !reopen, worker gone", _UNBLOCK),
    Row(_V, _I, By.WORKER, "a change was asked for in review", _MOVE),
    Row(_V, _I, By.PERSON, "!reopen, worker there", (*_MOVE, Does.RESUME)),
    Row(_V, _R, By.PERSON, "!reopen or a line, worker gone", _MOVE),
    Row(_V, _B, By.PERSON, "!kill", (*_BLOCK, Does.KILL)),
    Row(_V, _D, By.PERSON, "!complete", (*_MOVE, Does.LEAVE)),
    Row(_D, _R, By.PERSON, "!reopen, worker gone", _MOVE),
    *(
        Row(status, _A, By.PERSON, "!archive", (*_UNBLOCK, Does.LEAVE))
        if status is _B
        else Row(status, _A, By.PERSON, "!archive", (*_MOVE, Does.LEAVE))
        for status in (_P, _R, _I, _B, _V, _D)
    ),
)
"""Every legal transition; what is not here is refused."""

ROWS: Mapping[tuple[Status | None, Status, By], Row] = {
    (row.start, row.to, row.by): row for row in TRANSITIONS
}

WORDS: Mapping[Status, str] = {
    _P: "a draft",
    _R: "ready",
    _I: "in progress",
    _B: "blocked",
    _V: "for review",
    _D: "done",
    _A: "archived",
}
"""A state as people read it."""

HELPS: Mapping[Status, tuple[str, ...]] = {
    _P: ("!ready", "!desc", "!archive"),
    _R: ("!unready", "!archive"),
    _I: ("!stop", "!kill", "!archive"),
    _B: ("!reopen", "!archive"),
    _V: ("!complete", "!reopen", "!archive"),
    _D: ("!reopen", "!archive"),
    _A: ("!new",),
}
"""What can be done with a task in this state."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A transition that is legal: the task before and after, and the row that allows it."""

    old: Task
    task: Task
    row: Row


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing changes; `helps` are the commands that would."""

    status: Status
    helps: tuple[str, ...]

    @classmethod
    def of(cls, task: Task) -> Refusal:
        return cls(task.status, HELPS[task.status])

    def __str__(self) -> str:
        return f"it is {WORDS[self.status]}; what helps now: {', '.join(self.helps)}"


@dataclass(frozen=True, slots=True)
class Along:
    """What changes together with the status."""

    reason: Reason | None = None
    """Of a blocked task."""
    run: Run | None = None
    """None = as it was."""
    assignee: str | None = None
    """None = as it was."""


def apply(
    task: Task, to: Status, by: By, now: float, along: Along | None = None
) -> Moved | Refusal:
    """Move `task`, or say why not. A repeated state is no entry: same `rev`, same `times`."""
    row = ROWS.get((task.status, to, by))
    if row is None:
        return Refusal.of(task)
    along = along or Along()
    if row.effects == (Does.LOG,):
        return Moved(task, task, row)
    moved = replace(
        task,
        status=to,
        reason=str(along.reason) if along.reason is not None else None,
        run=along.run or task.run,
        assignee=along.assignee or task.assignee,
        times=Times(task.times.rev + 1, _entered(task, row, now)),
    )
    return Moved(task, moved, row)


def at_the_front(run: Run, now: float) -> Run:
    """Brought back by a person: first in the queue, with a fresh allowance of resumptions."""
    return replace(run, front=int(now), resumed=0, oom=0)


def lost(run: Run, cause: str, now: float) -> Run:
    """Its worker went through no fault of the task: first in the queue, and that is counted."""
    if cause == "oom":
        return replace(run, front=int(now), oom=run.oom + 1)
    return replace(run, front=int(now), resumed=run.resumed + 1)


def _entered(task: Task, row: Row, now: float) -> dict[Status, int]:
    entered = dict(task.times.entered)
    keeps_place = row.by is By.CONTROLLER and row.to is Status.READY
    if not keeps_place or Status.READY not in entered:
        entered[row.to] = int(now)
    return entered
