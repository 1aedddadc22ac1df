"""A directive that was not confirmed in 10 s: what it was for is done without the worker. Pure."""

from __future__ import annotations

from controller.effects import Job, Kill, Unconfirmed
from controller.lifecycle import Along, By, Refusal, apply
from controller.reports import to_requester
from controller.texts import next_step, state
from controller.transition import Told, current_ref, move
from controller.world import World
from shared.directives import Leave, Stop
from shared.task import Reason, Status, Task, Why


def on_unconfirmed(world: World, late: Unconfirmed, now: float) -> list[Job]:
    """A stop becomes a kill, a leave an end; anything else goes on being repeated."""
    task = world.board.get(late.channel)
    if task is None or late.attempt != task.run.attempt or task.run.exited is not None:
        return []
    match late.directive:
        case Stop(by):
            return _kill(world, task, by, now)
        case Leave():
            live = world.board.live(task.channel)
            if not live.leaving or live.ending_at is not None:
                return []
            live.ending_at = now
            return [Job(task.channel, (Kill(current_ref(task)),))]
        case _:
            return []


def _kill(world: World, task: Task, by: str, now: float) -> list[Job]:
    if task.status is not Status.IN_PROGRESS:
        return []
    reason = Reason(Why.KILLED, f"by {by}, the stop was not confirmed")
    moved = apply(task, Status.BLOCKED, By.PERSON, now, Along(reason=reason))
    if isinstance(moved, Refusal):
        return []
    effects = move(world, moved, Told(by=by), now)
    text = f"{task.channel} is {state(moved.task)}; {next_step(moved.task)}"
    return [Job(task.channel, (*effects, to_requester(world, moved.task, text)))]
