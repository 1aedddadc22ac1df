"""What the coming and going of people and workers means for a task. Pure."""

from __future__ import annotations

from dataclasses import replace

from controller.board import Live
from controller.effects import Effect, Job, Joined, Left, Say, SetMetadata
from controller.environment import model_name
from controller.transition import Told, event
from controller.world import World
from shared.ircv3.casemap import fold
from shared.task import Status, Task
from shared.task_metadata import changes


def on_joined(world: World, joined: Joined, now: float) -> list[Job]:
    task = world.board.get(joined.channel)
    if task is None:
        return []
    live = world.board.live(task.channel)
    nick = fold(joined.nick)
    known = nick in live.nicks
    live.nicks[nick] = joined.account
    live.spelling[nick] = joined.nick
    if is_its_worker(task, joined.account):
        return _worker_came(world, task, live, now)
    person = joined.account and not world.board.is_worker(joined.account)
    own = joined.account and fold(joined.account) == fold(world.settings.account)
    if person and not own and joined.live and not known and task.status is Status.PENDING:
        return [Job(task.channel, (Say(task.channel, (checklist(world, task),), notice=True),))]
    return []


def on_left(world: World, left: Left, now: float) -> list[Job]:
    task = world.board.get(left.channel)
    if task is None:
        return []
    live = world.board.live(task.channel)
    account = live.nicks.pop(fold(left.nick), None)
    live.spelling.pop(fold(left.nick), None)
    if is_its_worker(task, account) and not _others(live, account):
        live.present_since, live.absent_since = None, now
    return []


def _others(live: Live, account: str | None) -> bool:
    """Another session of the same account is still there."""
    return account is not None and any(a and fold(a) == fold(account) for a in live.nicks.values())


def is_its_worker(task: Task, account: str | None) -> bool:
    worker = task.run.worker
    return account is not None and worker is not None and fold(account) == fold(worker)


def _worker_came(world: World, task: Task, live: Live, now: float) -> list[Job]:
    """`worker_spawned` once per attempt, when it is in its room."""
    if live.present_since is None:
        live.present_since, live.absent_since = now, None
    if task.run.joined is not None or task.run.exited is not None:
        return []
    world.board.failed_starts, live.refusals = 0, 0
    came = replace(task, run=replace(task.run, joined=int(now), front=None))
    world.board.put(came)
    spawned = event(
        came,
        "worker_spawned",
        Told(),
        worker=came.run.worker,
        pod=came.run.job,
        model=model_name(world.settings, came),
        attempt=came.run.attempt,
    )
    effects: tuple[Effect, ...] = (spawned, SetMetadata(task.channel, changes(task, came)))
    return [Job(task.channel, effects)]


def checklist(world: World, task: Task) -> str:
    """What a draft has and lacks, in one line."""
    notes = world.board.live(task.channel).notes
    parts = (
        f"title “{task.title}”" if task.title else "no title yet",
        f"description of {len(task.description.encode()):,} bytes"
        if task.description
        else "no description yet (!desc <text>)",
        f"repo {task.repo}" if task.repo else "no repo",
        f"model {model_name(world.settings, task)}",
        f"{notes} note{'' if notes == 1 else 's'} so far",
    )
    return f"{task.channel} is a draft: {', '.join(parts)}; !ready starts it"
