"""What the server holds differently from the board, and the snapshots for late readers. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
from controller.transition import Told, event, question_of
from controller.world import World
from shared import description
from shared.channels import TASKS
from shared.ircv3.casemap import Folded, fold
from shared.task import Status, Task
from shared.task_metadata import Problems, from_metadata, to_metadata


def drift(
    board: Board,
    settings: CoreSettings,
    topics: Mapping[Folded, str],
    stored: Mapping[Folded, Mapping[str, str]],
) -> Iterator[Job]:
    """One job for each task that the server holds differently."""
    for task in board:
        key = fold(task.channel)
        values = stored.get(key, {})
        if _is_unclear(task, values):
            continue
        effects: list[Effect] = [] if key in topics else [MakeChannel(task.channel)]
        if written := _written(task, values):
            effects.append(SetMetadata(task.channel, written))
        if topics.get(key) != task.topic:
            effects.append(SetTopic(task.channel, task.topic))
        if "status" in written and settings.blocked_moderated:
            effects.append(SetModerated(task.channel, task.status is Status.BLOCKED))
        if effects:
            yield Job(task.channel, tuple(effects))


def _is_unclear(task: Task, values: Mapping[str, str]) -> bool:
    """Nothing is written over what could not be read, or over a task that nobody knows."""
    found = Problems()
    from_metadata(task.channel, values, "", found)
    unreadable = any("not readable" in problem for problem in found)
    return unreadable or not task.requester


def _written(task: Task, values: Mapping[str, str]) -> dict[str, str | None]:
    wanted = to_metadata(task)
    known = set(to_metadata(from_metadata(task.channel, values, "", Problems())))
    written: dict[str, str | None] = {k: v for k, v in wanted.items() if values.get(k) != v}
    return written | dict.fromkeys(sorted((known & values.keys()) - wanted.keys()))


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
