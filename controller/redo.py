"""Re-applying the tail of #firehose to what METADATA holds (design 4: log first). Pure.

An event of a higher `rev` than the stored one is a transition whose writes were lost; an event of
the same or a lower one is in METADATA already.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from controller.board import Board
from controller.lifecycle import at_the_front, lost
from controller.metas import NotMeta, with_meta
from controller.transition import second_kind
from shared.channels import parse_task_channel
from shared.firehose import Event, Record
from shared.ircv3.casemap import Folded, fold
from shared.task import Run, Status, Task, Times, Usage, Why


@dataclass(slots=True)
class Redone:
    """What the tail says beside the tasks."""

    causes: dict[str, list[Record]] = field(default_factory=dict)
    seqs: dict[tuple[Folded, int], int] = field(default_factory=dict)
    """(channel, attempt) -> highest seq that was carried out."""
    cut: dict[Folded, Record] = field(default_factory=dict)
    """Channel -> the newest event that says its description, or lost part of its title."""
    untold: dict[Folded, Record] = field(default_factory=dict)
    """Channel -> its newest transition, where the second event of that is missing."""
    exits: dict[Folded, str] = field(default_factory=dict)
    """Channel -> why the worker of the newest attempt left."""


def redo(board: Board, records: Iterable[Record]) -> Redone:
    """Bring the board up to the log, in the order of the log."""
    redone = Redone()
    for record in records:
        event = record.event
        if event.cause is not None:
            redone.causes.setdefault(event.cause, []).append(record)
        if event.task is not None and parse_task_channel(event.task) is not None:
            _redo_one(board, redone, record, event.task)
    for channel, reason in redone.exits.items():
        task = board.get(channel)
        if task is not None:
            board.put(_left(task, reason))
    return redone


def _redo_one(board: Board, redone: Redone, record: Record, channel: str) -> None:
    event = record.event
    _note(redone, record, fold(channel))
    task = board.get(channel)
    if task is None:
        if event.kind == "task_created":
            board.put(_created(record, channel))
        elif (parsed := parse_task_channel(channel)) is not None:
            board.next_number = max(board.next_number, parsed.number + 1)
        return
    if event.kind == "status" and _int(event.fields.get("rev")) > task.times.rev:
        task = _left(task, redone.exits.get(fold(channel)))
    apply = _APPLY.get(event.kind)
    if apply is not None:
        board.put(apply(task, record, event.fields))


def _left(task: Task, reason: str | None) -> Task:
    """The worker of the attempt under way is known to have left."""
    if reason is None or task.run.exited is not None:
        return task
    return replace(task, run=replace(task.run, exited=reason))


def _note(redone: Redone, record: Record, channel: Folded) -> None:
    """What is remembered of an event whether or not the task needs it."""
    event, fields = record.event, record.event.fields
    attempt, seq = _int(fields.get("attempt")), _int(fields.get("seq"))
    if event.kind == "status" and attempt and seq:
        key = (channel, attempt)
        redone.seqs[key] = max(seq, redone.seqs.get(key, 0))
    if event.kind == "status" and fields.get("prev_status") == Status.READY:
        redone.exits.pop(channel, None)
    if event.kind == "worker_exited":
        redone.exits[channel] = str(fields.get("reason", "vanished"))
    _note_second(redone, record, channel)
    says_description = event.kind == "task_updated" and fields.get("field") == "description"
    if event.kind == "task_created" or says_description:
        redone.cut[channel] = record


def _note_second(redone: Redone, record: Record, channel: Folded) -> None:
    """Whether the event is there that belongs to the newest transition."""
    event, fields = record.event, record.event.fields
    if event.kind == "status":
        before, to = str(fields.get("prev_status")), str(fields.get("status"))
        redone.untold.pop(channel, None)
        if second_kind(before, to) is not None:
            redone.untold[channel] = record
        return
    first = redone.untold.get(channel)
    if first is None:
        return
    of_first = first.event.fields
    if event.kind == second_kind(str(of_first.get("prev_status")), str(of_first.get("status"))):
        del redone.untold[channel]


def _created(record: Record, channel: str) -> Task:
    fields = record.event.fields
    at = int(record.t)
    return Task(
        channel,
        title=str(fields.get("title", "")),
        requester=fields.get("requester"),
        created=at,
        repo=record.event.repo,
        times=Times(0, {Status.PENDING: at}),
    )


def _known_already(task: Task, record: Record, fields: Mapping[str, Any]) -> Task:
    """Half written: what the log says of its beginning fills what METADATA lacks."""
    at = int(record.t)
    return replace(
        task,
        title=task.title or str(fields.get("title", "")),
        requester=task.requester or fields.get("requester"),
        created=task.created or at,
        times=task.times if task.times.entered else Times(task.times.rev, {Status.PENDING: at}),
    )


def _status(task: Task, record: Record, fields: Mapping[str, Any]) -> Task:
    rev = _int(fields.get("rev"))
    try:
        status = Status(str(fields.get("status")))
    except ValueError:
        return task
    if rev <= task.times.rev:
        return task
    attempt = _int(fields.get("attempt")) or task.run.attempt
    run = task.run
    if attempt > run.attempt:
        run = Run(attempt, spawned="agent", resumed=run.resumed, oom=run.oom, front=run.front)
    worker = fields.get("worker")
    run = replace(run, worker=str(worker) if worker else run.worker)
    if status is Status.READY:
        run = _brought_back(run, fields, int(record.t))
    return replace(
        task,
        status=status,
        reason=_reason(fields) if status is Status.BLOCKED else None,
        assignee=run.worker if status is Status.IN_PROGRESS else task.assignee,
        run=run,
        times=Times(rev, _entered(task, status, record, fields)),
    )


def _brought_back(run: Run, fields: Mapping[str, Any], at: int) -> Run:
    """As the transition changed it. From a start that was refused it only goes back."""
    before = fields.get("prev_status")
    if before == Status.PENDING:
        return run
    if before != Status.IN_PROGRESS or fields.get("seq"):
        return at_the_front(run, at)
    return run if run.exited is None else lost(run, run.exited, at)


def _entered(
    task: Task, status: Status, record: Record, fields: Mapping[str, Any]
) -> dict[Status, int]:
    """As in `lifecycle.apply`: what goes back from a start keeps its place in the queue."""
    entered = dict(task.times.entered)
    back = status is Status.READY and fields.get("prev_status") == Status.IN_PROGRESS
    if not back or status not in entered:
        entered[status] = int(record.t)
    return entered


def _reason(fields: Mapping[str, Any]) -> str | None:
    reason, question = fields.get("reason"), fields.get("question")
    if reason == Why.QUESTION and question:
        return f"{reason}: {question}"
    return str(reason) if reason else None


def _ready(task: Task, record: Record, fields: Mapping[str, Any]) -> Task:
    """Its status event stands before it; a later start has taken `front` away again."""
    if task.status is not Status.READY or int(record.t) < task.times.entered.get(Status.READY, 0):
        return task
    front = fields.get("front")
    run = replace(task.run, front=front if isinstance(front, int) else None)
    return replace(task, priority=_int(fields.get("priority")), run=run)


def _updated(task: Task, record: Record, fields: Mapping[str, Any]) -> Task:
    """A cut value is re-read elsewhere, never stored."""
    name, value = str(fields.get("field")), str(fields.get("value", ""))
    if record.event.cut:
        return task
    changed = with_meta(task, name, value)
    return task if isinstance(changed, NotMeta) else changed


def _assigned(task: Task, record: Record, fields: Mapping[str, Any]) -> Task:
    """Told again only where another name was picked for the attempt under way."""
    name = str(fields.get("assignee") or "")
    late = int(record.t) >= task.times.entered.get(Status.IN_PROGRESS, 0)
    if task.status is not Status.IN_PROGRESS or not name or not late:
        return task
    return replace(task, assignee=name, run=replace(task.run, worker=name))


def _spawned(task: Task, record: Record, fields: Mapping[str, Any]) -> Task:
    if _int(fields.get("attempt")) != task.run.attempt:
        return task
    run = task.run
    job = run.job or (str(fields["pod"]) if fields.get("pod") else None)
    joined = run.joined if run.joined is not None else int(record.t)
    return replace(task, run=replace(run, job=job, joined=joined, front=None))


def _cost(task: Task, record: Record, fields: Mapping[str, Any]) -> Task:
    del record
    cost = fields.get("cost_usd")
    usage = Usage(
        cost_usd=float(cost) if isinstance(cost, int | float) and math.isfinite(cost) else 0.0,
        tokens_in=_int(fields.get("tokens_in")),
        tokens_out=_int(fields.get("tokens_out")),
    )
    return replace(task, usage=task.usage.at_least(usage))


def _int(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


_APPLY: Mapping[str, Callable[[Task, Record, Mapping[str, Any]], Task]] = {
    "task_created": _known_already,
    "status": _status,
    "task_ready": _ready,
    "task_updated": _updated,
    "task_assigned": _assigned,
    "worker_spawned": _spawned,
    "cost": _cost,
}


def event_of_description(redone: Redone, channel: str) -> Event | None:
    """The newest event that names the message a description came from."""
    record = redone.cut.get(fold(channel))
    return record.event if record is not None else None
