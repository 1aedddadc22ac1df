"""What a transition does, in log-first order: #firehose, METADATA, topic, then the rest. Pure.

The order of effects is the row's own (`lifecycle.TRANSITIONS`); a crash between two of them is
healed from the event, which came first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from controller.board import Live
from controller.effects import (
    Direct,
    Effect,
    Kill,
    MintAccount,
    Publish,
    SetMetadata,
    SetModerated,
    SetTopic,
    Spawn,
)
from controller.environment import worker_env
from controller.lifecycle import Does, Moved
from controller.spawner import WorkerRef
from controller.world import World
from shared.directives import Leave, Resume, ToWorker
from shared.firehose import Event, Record
from shared.task import Status, Task, Why, parse_reason
from shared.task_metadata import changes


@dataclass(frozen=True, slots=True)
class Told:
    """What stands behind a transition."""

    by: str = ""
    """Account of the person; "" = nobody."""
    cause: str | None = None
    """msgid of the command, line or directive."""
    at: str | None = None
    """Channel or account where it stands."""
    seq: int | None = None
    """Of a worker's directive."""
    resume: str = ""
    """What a [resume] names: a msgid or a note."""


def event(task: Task, kind: str, told: Told, **fields: Any) -> Publish:
    """An event of this task."""
    return Publish(Event(kind, task.channel, task.repo, fields, told.cause, told.at))


def current_ref(task: Task) -> WorkerRef:
    return WorkerRef(task.number, task.run.attempt, task.run.job or "")


def direct(task: Task, directive: ToWorker, cause: str | None) -> Direct:
    """A directive to the worker of the current attempt."""
    return Direct(
        task.channel, task.number, task.run.attempt, task.run.worker or "", directive, cause
    )


def moved_last(done: Sequence[Record], task: Task) -> bool:
    """Whether one of these events is the task's newest transition."""
    return any(
        record.event.kind == "status" and record.event.fields.get("rev") == task.times.rev
        for record in done
    )


def move(world: World, moved: Moved, told: Told, now: float) -> tuple[Effect, ...]:
    """Put the moved task on the board; what has to be done, in order."""
    task = moved.task
    live = world.board.live(task.channel)
    stays = world.board.worker_stays(moved.old)
    world.board.put(task)
    live.last_activity = now
    if moved.old.status is not task.status:
        live.unheard.clear()
    live.question = question_of(task)
    effects: list[Effect] = []
    for step in moved.row.effects:
        effects += _step(world, step, moved, told, stays=stays)
    _expect(live, moved, now)
    return tuple(effects)


def question_of(task: Task) -> str:
    reason = parse_reason(task.reason or "") if task.status is Status.BLOCKED else None
    return reason.detail if reason is not None and reason.why is Why.QUESTION else ""


def _step(world: World, step: Does, moved: Moved, told: Told, *, stays: bool) -> tuple[Effect, ...]:
    task = moved.task
    match step:
        case Does.LOG:
            return (_status_event(moved, told), *second_event(moved.old.status, task, told))
        case Does.STATE:
            return _state_writes(moved)
        case Does.SPAWN:
            return start_effects(world, task)
        case Does.TOPIC:
            return (*_late_writes(moved), SetTopic(task.channel, task.topic))
        case Does.MODERATE:
            return (SetModerated(task.channel, True),) if _moderates(world, moved) else ()
        case Does.UNMODERATE:
            return (SetModerated(task.channel, False),) if _moderates(world, moved) else ()
        case Does.RESUME:
            return (direct(task, Resume(told.resume), told.cause),)
        case Does.LEAVE:
            return (dismiss(world, task, told.cause),) if stays else ()
        case Does.KILL:
            return (Kill(current_ref(task)),)


def _moderates(world: World, moved: Moved) -> bool:
    return world.settings.blocked_moderated and moved.old.status is not moved.task.status


def start_effects(world: World, task: Task) -> tuple[Effect, ...]:
    """The account, then the worker; `run` is stored before."""
    account = task.run.worker or ""
    listed = world.board.pool.lists(account)
    return (
        MintAccount(account, task.number, task.run.attempt, listed),
        Spawn(task.channel, worker_env(world.settings, task)),
    )


def _state_writes(moved: Moved) -> tuple[Effect, ...]:
    """A spawn waits for `run` only (design 4)."""
    values = changes(moved.old, moved.task)
    if Does.SPAWN in moved.row.effects:
        values = {key: value for key, value in values.items() if key == "run"}
    return (SetMetadata(moved.task.channel, values),) if values else ()


def _late_writes(moved: Moved) -> tuple[Effect, ...]:
    if Does.SPAWN not in moved.row.effects:
        return ()
    values = {k: v for k, v in changes(moved.old, moved.task).items() if k != "run"}
    return (SetMetadata(moved.task.channel, values),)


def _status_event(moved: Moved, told: Told) -> Publish:
    task = moved.task
    reason, question = task.reason, question_of(task)
    if question:
        reason = str(Why.QUESTION)
    return event(
        task,
        "status",
        told,
        status=str(task.status),
        prev_status=str(moved.old.status),
        rev=task.times.rev,
        attempt=task.run.attempt or None,
        worker=task.run.worker,
        seq=told.seq,
        reason=reason,
        question=question or None,
        waits_for=task.requester if task.status is Status.BLOCKED else None,
    )


def second_kind(before: str, to: str) -> str | None:
    """What is told besides `status` of a transition."""
    match to:
        case Status.READY:
            return "task_ready"
        case Status.IN_PROGRESS if before == Status.READY:
            return "task_assigned"
        case Status.DONE:
            return "task_completed"
        case Status.ARCHIVED:
            return "task_archived"
        case _:
            return None


def second_event(before: Status, task: Task, told: Told) -> tuple[Publish, ...]:
    """The event of `second_kind`, of the task as it is after the transition."""
    kind = second_kind(before, task.status)
    match kind:
        case None:
            return ()
        case "task_ready":
            return (event(task, kind, told, priority=task.priority, front=task.run.front),)
        case "task_assigned":
            return (event(task, kind, told, assignee=task.assignee),)
        case "task_completed":
            return (event(task, kind, told, by=told.by or None),)
        case _:
            return (event(task, kind, told),)


def dismiss(world: World, task: Task, cause: str | None) -> Direct:
    """Tell the worker of a task that is over to leave."""
    world.board.live(task.channel).dismissed = True
    return direct(task, Leave(_leave_word(task)), cause)


def _leave_word(task: Task) -> str:
    return "archived" if task.status is Status.ARCHIVED else "completed"


def _expect(live: Live, moved: Moved, now: float) -> None:
    """What the worker of this attempt will do now."""
    if Does.KILL in moved.row.effects:
        live.leaving, live.ending_at = "killed", now
    elif Does.LEAVE in moved.row.effects:
        live.leaving = live.leaving or _leave_word(moved.task)
    elif Does.SPAWN in moved.row.effects:
        starting(live, moved.old.run.attempt != moved.task.run.attempt, now)


def starting(live: Live, fresh: bool, now: float) -> None:
    """A start is on its way; a new attempt knows nothing of the one before."""
    live.spawning, live.started_at = True, now
    live.leaving, live.ending_at = "", None
    live.present_since = live.absent_since = None
    live.dismissed = False
    if fresh:
        live.inbox.highest = 0
        live.refused.clear()
