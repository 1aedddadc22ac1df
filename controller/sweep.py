"""Carrying out what the reconciler found. Pure."""

from __future__ import annotations

from dataclasses import replace

from controller.effects import Effect, Job, Kill, Say, SetMetadata
from controller.lifecycle import Along, By, Refusal, apply, lost
from controller.reconciler import (
    Adopt,
    Dismiss,
    End,
    Finding,
    Gone,
    Lost,
    Orphan,
    Start,
    StartAgain,
    Stuck,
    dispatch,
    plan,
)
from controller.reports import to_requester
from controller.starting import adopt, block, count_failed_start, start, start_again
from controller.transition import Told, dismiss, event, move
from controller.world import World
from shared.channels import TASKS
from shared.task import Reason, Status, Task, Why
from shared.task_metadata import changes

_INFRASTRUCTURE = frozenset({"", "evicted", "killed", "vanished"})
"""Causes that are not the worker's fault: resumed once on the same workspace."""
_BLOCKS = {"deadline": Why.DEADLINE, "oom": Why.FAILED}
_FAILURES = {
    "error": "its worker ended with an error",
    "oom": "out of memory twice",
    "deadline": "",
    "completed": "it left without handing in",
    "idle": "it left without handing in",
}


def sweep(world: World, now: float) -> list[Job]:
    """All that a look at board and workers asks for."""
    keep_clocks(world, now)
    jobs = [
        job
        for finding in plan(world.board, world.settings, now)
        if not isinstance(finding, Start)
        for job in carry_out(world, finding, now)
    ]
    return [*jobs, *start_ready(world, now)]


def start_ready(world: World, now: float) -> list[Job]:
    """Tasks whose turn has come; after every input."""
    findings = dispatch(world.board, world.settings, now)
    return [job for finding in findings for job in carry_out(world, finding, now)]


def carry_out(world: World, finding: Finding, now: float) -> list[Job]:
    match finding:
        case Start(channel):
            return start(world, _task(world, channel), now)
        case StartAgain(channel):
            return start_again(world, _task(world, channel), now)
        case Adopt(channel, job):
            return _adopted(world, _task(world, channel), job, now)
        case Gone(channel, cause):
            return _gone(world, _task(world, channel), cause, now)
        case Lost(channel, cause):
            return _after_loss(world, _task(world, channel), cause, now)
        case Dismiss(channel):
            return [Job(channel, (dismiss(world, _task(world, channel), None),))]
        case End():
            return _end(world, finding, now)
        case Orphan(ref):
            world.board.orphans[ref] = now
            text = f"worker {ref.job} (task {ref.task}, attempt {ref.attempt}) belongs to no task"
            return [_in_tasks(f"{text}; it is ended unless one claims it")]
        case Stuck(channel):
            return _stuck(world, _task(world, channel))


def _task(world: World, channel: str) -> Task:
    task = world.board.get(channel)
    if task is None:
        raise LookupError(channel)
    return task


def _in_tasks(text: str) -> Job:
    return Job(TASKS, (Say(TASKS, (text,), notice=True),))


def _adopted(world: World, task: Task, job: str, now: float) -> list[Job]:
    live = world.board.live(task.channel)
    live.spawning = False
    if live.present_since is None and live.absent_since is None:
        live.absent_since = now
    return adopt(world, task, job)


def _end(world: World, end: End, now: float) -> list[Job]:
    if end.channel is None:
        world.board.orphans.pop(end.ref, None)
        text = f"worker {end.ref.job} of no task is ended"
        return [Job(TASKS, (Kill(end.ref), Say(TASKS, (text,), notice=True)))]
    live = world.board.live(end.channel)
    if end.why == "orphan":
        return [Job(end.channel, (Kill(end.ref),))]
    live.ending_at, live.leaving = now, live.leaving or end.why
    return [Job(end.channel, (Kill(end.ref),))]


def _stuck(world: World, task: Task) -> list[Job]:
    live = world.board.live(task.channel)
    if live.stuck_said:
        return []
    live.stuck_said = True
    text = f"{task.channel} waits: an earlier worker of it is not known to be gone"
    return [Job(task.channel, (to_requester(world, task, text),))]


def keep_clocks(world: World, now: float) -> None:
    """Since when a ready task waits for the end of an earlier worker; orphans that are gone."""
    board = world.board
    here = {row.ref for row in board.workers.workers} if board.workers is not None else set()
    board.orphans = {ref: since for ref, since in board.orphans.items() if ref in here}
    for task in board.having(Status.READY):
        live = board.live(task.channel)
        if not task.run.attempt or board.proven_gone(task):
            live.stuck_since, live.stuck_said = None, False
        elif live.stuck_since is None:
            live.stuck_since = now


# A worker has ended.


def _gone(world: World, task: Task, cause: str, now: float) -> list[Job]:
    """`worker_exited` once per attempt; then once more, or a person is needed."""
    live = world.board.live(task.channel)
    reason = live.leaving or cause or "vanished"
    left = replace(task, run=replace(task.run, exited=reason))
    world.board.put(left)
    live.present_since = live.absent_since = None
    effects: tuple[Effect, ...] = (
        event(left, "worker_exited", Told(), worker=task.run.worker, reason=reason),
        SetMetadata(task.channel, changes(task, left)),
    )
    jobs = [Job(task.channel, effects)]
    if task.status is not Status.IN_PROGRESS:
        return jobs
    if task.run.joined is None:
        jobs += count_failed_start(world, f"{task.channel}: the worker ended ({reason})", now)
    return [*jobs, *_after_loss(world, left, reason if live.leaving else cause, now)]


def _after_loss(world: World, task: Task, cause: str, now: float) -> list[Job]:
    run = task.run
    if cause in _INFRASTRUCTURE and run.resumed == 0:
        return _resumed(world, Along(run=lost(run, cause, now)), task, now)
    if cause == "oom" and run.oom == 0:
        return _resumed(world, Along(run=lost(run, cause, now)), task, now)
    if cause in _INFRASTRUCTURE:
        return block(world, task, Reason(Why.VANISHED, "it was lost twice"), now)
    detail = _FAILURES.get(cause, f"it ended with “{cause}”")
    return block(world, task, Reason(_BLOCKS.get(cause, Why.FAILED), detail), now)


def _resumed(world: World, along: Along, task: Task, now: float) -> list[Job]:
    moved = apply(task, Status.READY, By.CONTROLLER, now, along)
    if isinstance(moved, Refusal):
        return []
    effects = move(world, moved, Told(), now)
    text = f"{task.channel} lost its worker; another one goes on with the same workspace"
    return [Job(task.channel, (*effects, Say(task.channel, (text,), notice=True)))]
