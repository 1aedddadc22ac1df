"""What the server holds differently from the board, and the snapshots for late readers. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from controller.board import Board
from controller.effects import (
    Effect,
    Job,
    MakeChannel,
    PostDescription,
    Publish,
    SetMetadata,
    SetModerated,
    SetTopic,
)
from controller.limits import CoreSettings
from controller.redo import Redone
from controller.transition import Told, event, question_of, second_event
from controller.world import World
from shared import description
from shared.channels import TASKS
from shared.ircv3.casemap import Folded, fold
from shared.task import Status, Task
from shared.task_metadata import changes


@dataclass(frozen=True, slots=True)
class OnServer:
    """A task channel as it was read."""

    topic: str
    task: Task | None
    """What METADATA says; None = nothing."""
    whole: bool
    """The description's pieces are all there and fit."""
    readable: bool
    """False: a value is none of ours, and nothing is written over it."""


def drift(
    board: Board, settings: CoreSettings, on_server: Mapping[Folded, OnServer]
) -> Iterator[Job]:
    """One job for each task that the server holds differently; a task of nobody is left alone."""
    for task in board:
        was = on_server.get(fold(task.channel))
        if not task.requester or (was is not None and not was.readable):
            continue
        effects: list[Effect] = [] if was is not None else [MakeChannel(task.channel)]
        before = was.task if was is not None else None
        written = {} if before == task else changes(before, task)
        if written:
            effects.append(SetMetadata(task.channel, written))
        if was is None or was.topic != task.topic:
            effects.append(SetTopic(task.channel, task.topic))
        if "status" in written and settings.blocked_moderated:
            effects.append(SetModerated(task.channel, task.status is Status.BLOCKED))
        if effects:
            yield Job(task.channel, tuple(effects))


def untold(board: Board, redone: Redone) -> Iterator[Job]:
    """Second events of transitions that were cut off between the two; the log comes first.

    Who completed a task stands in the missing event alone: it is left out, `cause` leads there.
    """
    for channel, record in redone.untold.items():
        task, first = board.get(channel), record.event
        if task is not None:
            told = Told(cause=first.cause, at=first.at)
            before = Status(str(first.fields.get("prev_status")))
            yield Job(task.channel, second_event(before, task, told))


def describe_again(task: Task) -> Job:
    """The description as it was found, in METADATA once more."""
    pieces = description.to_pieces(task.description)
    return Job(
        task.channel,
        (
            PostDescription(task.channel, task.description),
            SetMetadata(task.channel, pieces),
            SetTopic(task.channel, task.topic),
        ),
    )


def snapshots(world: World, now: float) -> list[Job]:
    """All open tasks for readers of a few days, at most once in some hours."""
    board = world.board
    if now - board.snapshot_at < world.settings.snapshot_seconds:
        return []
    board.snapshot_at = now
    events = [
        published
        for task in board
        if task.status not in (Status.DONE, Status.ARCHIVED)
        for published in _snapshot(task)
    ]
    mark = SetMetadata(TASKS, {"snapshot": str(int(now))})
    return [Job("snapshots", (*events, mark))] if events else []


def _snapshot(task: Task) -> tuple[Publish, Publish]:
    question = question_of(task)
    times = {str(status): at for status, at in sorted(task.times.entered.items())}
    return (
        event(
            task,
            "task_snapshot",
            Told(),
            status=str(task.status),
            rev=task.times.rev,
            title=task.title,
            requester=task.requester,
            assignee=task.assignee,
            reason=task.reason,
        ),
        event(
            task,
            "task_snapshot_more",
            Told(),
            times=times,
            attempt=task.run.attempt,
            worker=task.run.worker,
            cost_usd=round(task.usage.cost_usd, 6),
            question=question or None,
            waits_for=task.requester if task.status is Status.BLOCKED else None,
        ),
    )
