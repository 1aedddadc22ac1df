"""What a sweep finds: tasks to start, workers that are gone, lost, late or without a task. Pure.

`plan` only looks; `sweep.py` carries its findings out. Unknown state never means delete: only a
complete list, asked after the last start, proves a worker gone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TypeAlias

from controller.board import Board
from controller.limits import CoreSettings
from controller.spawner import WorkerRef, WorkerState
from controller.starting import FAILURES_UNTIL_WAIT
from shared.ircv3.casemap import Folded, fold
from shared.task import Status, Task, Why, parse_reason

LEAVE_SECONDS = 60
"""A worker that was told to leave is ended after that."""
STUCK_SECONDS = 300
"""A person is told of a task that waits so long for the end of an earlier worker."""


@dataclass(frozen=True, slots=True)
class Start:
    """Its turn has come."""

    channel: str


@dataclass(frozen=True, slots=True)
class StartAgain:
    """Its attempt is stored and no worker of it was ever seen."""

    channel: str


@dataclass(frozen=True, slots=True)
class Adopt:
    """A worker of its current attempt runs, under this name of the engine's."""

    channel: str
    job: str


@dataclass(frozen=True, slots=True)
class Gone:
    """The worker of the current attempt has ended."""

    channel: str
    cause: str
    """In a word of `worker_exited.reason`; "" = the engine does not know."""


@dataclass(frozen=True, slots=True)
class Lost:
    """In progress, and its worker is known to have left: what follows from that was cut off."""

    channel: str
    cause: str


@dataclass(frozen=True, slots=True)
class Dismiss:
    """Its task is over, and nobody has told it."""

    channel: str


@dataclass(frozen=True, slots=True)
class End:
    """A worker that must not be there (any more)."""

    ref: WorkerRef
    channel: str | None
    why: str


@dataclass(frozen=True, slots=True)
class Orphan:
    """A worker that no task knows; it is reported and gets a grace period."""

    ref: WorkerRef


@dataclass(frozen=True, slots=True)
class Stuck:
    """Ready, and an earlier worker is still not proven gone."""

    channel: str


Finding: TypeAlias = Start | StartAgain | Adopt | Gone | Lost | Dismiss | End | Orphan | Stuck


def plan(board: Board, settings: CoreSettings, now: float) -> list[Finding]:
    """Everything that a sweep has to do, repairs before starts."""
    return [
        *_workers(board, settings, now),
        *_orphans(board, settings, now),
        *_stuck(board, now),
        *dispatch(board, settings, now),
    ]


# Starts.


def dispatch(board: Board, settings: CoreSettings, now: float) -> list[Finding]:
    """Ready tasks in order, as far as both caps allow; [] until a complete list is there."""
    if board.workers is None or not board.workers.complete or now < board.dispatch_after:
        return []
    active = board.active()
    free = settings.max_active_total - len(active)
    if board.failed_starts >= FAILURES_UNTIL_WAIT:
        free = min(free, 0 if any(t.run.joined is None for t in active) else 1)
    mine: Counter[Folded] = Counter(_requester(task) for task in active)
    starts: list[Finding] = []
    for task in board.queue() if free > 0 else ():
        if len(starts) >= free:
            break
        if mine[_requester(task)] >= settings.max_active_per_requester:
            continue
        if _may_start(board, task, now):
            mine[_requester(task)] += 1
            starts.append(Start(task.channel))
    return starts


def _requester(task: Task) -> Folded:
    return fold(task.requester or "")


def _may_start(board: Board, task: Task, now: float) -> bool:
    open_blockers = [b for name in task.blocked_by if (b := board.get(name)) and _is_open(b)]
    waits = bool(open_blockers) or now < board.live(task.channel).retry_at
    return not waits and board.proven_gone(task)


def _is_open(task: Task) -> bool:
    return task.status not in (Status.DONE, Status.ARCHIVED)


def _stuck(board: Board, now: float) -> list[Finding]:
    """The clock of `stuck_since` is kept by `sweep`."""
    found: list[Finding] = []
    for task in board.having(Status.READY):
        since = board.live(task.channel).stuck_since
        if since is not None and now - since >= STUCK_SECONDS:
            found.append(Stuck(task.channel))
    return found


# Workers of tasks.


def _workers(board: Board, settings: CoreSettings, now: float) -> list[Finding]:
    found: list[Finding] = []
    for task in board:
        if not task.run.attempt or task.run.spawned == "human":
            continue
        if task.run.exited is None:
            found += _worker(board, settings, task, now)
        elif task.status is Status.IN_PROGRESS:
            found.append(Lost(task.channel, task.run.exited))
    return found


def _worker(board: Board, settings: CoreSettings, task: Task, now: float) -> list[Finding]:
    """What is to be done about the current attempt's worker."""
    current = [row for row in board.rows(task) if row.ref.attempt == task.run.attempt]
    alive = next((row for row in current if row.state is not WorkerState.ENDED), None)
    live = board.live(task.channel)
    if alive is not None:
        if task.run.job != alive.ref.job or not board.pool.lists(task.run.worker or ""):
            return [Adopt(task.channel, alive.ref.job)]
        if live.ending_at is not None and now - live.ending_at < LEAVE_SECONDS:
            return []
        return _overdue(board, settings, task, alive.ref, now)
    ended = next((row for row in current if row.state is WorkerState.ENDED), None)
    if not board.proven_gone(task):
        return []
    if ended is None and task.run.job is None and task.run.joined is None:
        return [StartAgain(task.channel)] if task.status is Status.IN_PROGRESS else []
    return [Gone(task.channel, ended.cause if ended is not None else "")]


def _overdue(
    board: Board, settings: CoreSettings, task: Task, ref: WorkerRef, now: float
) -> list[Finding]:
    """Alive, and it must not be: told to leave, or never or no more in its channel."""
    live = board.live(task.channel)
    reason = parse_reason(task.reason or "")
    if task.status is Status.BLOCKED and reason is not None and reason.why is Why.KILLED:
        return [End(ref, task.channel, "killed")]
    if task.status in (Status.DONE, Status.ARCHIVED, Status.READY, Status.PENDING):
        told_at = task.times.entered.get(task.status, 0)
        late = now - told_at >= LEAVE_SECONDS
        word = "archived" if task.status is Status.ARCHIVED else "completed"
        if late:
            return [End(ref, task.channel, live.leaving or word)]
        over = task.status in (Status.DONE, Status.ARCHIVED)
        return [Dismiss(task.channel)] if over and not live.dismissed else []
    if live.absent_since is None:
        return []
    never = task.run.joined is None
    patience = settings.worker_start_seconds if never else settings.worker_absent_seconds
    if now - live.absent_since < patience:
        return []
    return [End(ref, task.channel, "error" if never else "vanished")]


# Workers of nobody.


def _orphans(board: Board, settings: CoreSettings, now: float) -> list[Finding]:
    """Of no task, or of an earlier attempt."""
    if board.workers is None:
        return []
    found: list[Finding] = []
    for row in board.workers.workers:
        task = board.by_number(row.ref.task)
        known = task is not None and row.ref.attempt == task.run.attempt
        if known or row.state is WorkerState.ENDED:
            continue
        since = board.orphans.get(row.ref)
        if since is None:
            found.append(Orphan(row.ref))
        elif now - since >= settings.orphan_grace_seconds:
            found.append(End(row.ref, task.channel if task else None, "orphan"))
    return found
