"""What the server holds differently from the board, and the snapshots for late readers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
from controller.write_schedule import STANDARD_MODES
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
    modes: frozenset[str] | None = None
    """Letters that are set; None = unknown, and left alone."""
    registered: bool = True


def drift(
    board: Board, settings: CoreSettings, on_server: Mapping[Folded, OnServer]
) -> Iterator[Job]:
    """One job for each task that the server holds differently; a task of nobody is left alone."""
    for task in board:
        was = on_server.get(fold(task.channel))
        if not task.requester or (was is not None and not was.readable):
            continue
        effects = _channel(task.channel, was)
        before = was.task if was is not None else None
        written = {} if before == task else changes(before, task)
        if written:
            effects.append(SetMetadata(task.channel, written))
        if was is None or was.topic != task.topic:
            effects.append(SetTopic(task.channel, task.topic))
        modes = was.modes if was is not None else STANDARD_MODES
        if settings.blocked_moderated and modes is not None:
            blocked = task.status is Status.BLOCKED
            effects += [SetModerated(task.channel, blocked)] if ("M" in modes) != blocked else []
        if effects:
            yield Job(task.channel, tuple(effects))


def _channel(channel: str, was: OnServer | None) -> list[Effect]:
    """Registered, with its standard modes."""
    if was is None:
        return [MakeChannel(channel)]
    bare = was.modes is not None and not was.modes >= STANDARD_MODES
    return [MakeChannel(channel, anew=True)] if bare or not was.registered else []


def put_right(world: World, touched: Iterable[str]) -> list[Job]:
    """Channels that somebody else has changed: as they must be, whatever was done to them."""
    found = (world.board.get(channel) for channel in sorted(touched))
    tasks = [task for task in found if task is not None and task.requester]
    return [Job(task.channel, _all_of_it(world.settings, task)) for task in tasks]


def _all_of_it(settings: CoreSettings, task: Task) -> tuple[Effect, ...]:
    blocked = task.status is Status.BLOCKED
    moderated = (SetModerated(task.channel, blocked),) if settings.blocked_moderated else ()
    return (MakeChannel(task.channel, anew=True), SetTopic(task.channel, task.topic), *moderated)


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
