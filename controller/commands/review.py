"""Judging the work: `!complete !reopen !archive`. Pure."""

from __future__ import annotations

from dataclasses import replace

from controller.commands.draft import place_in_queue
from controller.commands.request import Outcome, Request, short
from controller.lifecycle import WORDS, Along, By, Refusal, apply
from shared.task import Run, Status, Task

_REOPENED = (Status.BLOCKED, Status.FOR_REVIEW, Status.DONE)


def complete(request: Request) -> Outcome:
    """Accept it."""
    moved = apply(request.the_task(), Status.DONE, By.PERSON, request.now)
    return request.carry(moved, lambda task: f"{task.channel} is done: “{short(task.title)}”")


def reopen(request: Request) -> Outcome:
    """Rework: a live worker goes on at once, else the task goes to the front of the queue."""
    task = request.the_task()
    if task.status not in _REOPENED:
        return request.carry(Refusal.of(task), str)
    note = " ".join(request.args.split())
    if request.world.board.worker_stays(task):
        moved = apply(task, Status.IN_PROGRESS, By.PERSON, request.now)
        resume = note or f"reopened by {request.account}"
        return request.carry(
            moved, lambda t: f"{t.channel} is in progress: {t.run.worker} goes on", resume
        )
    along = Along(run=at_the_front(task, request.now))
    moved = apply(task, Status.READY, By.PERSON, request.now, along)
    return request.carry(moved, lambda t: place_in_queue(request.world, t))


def at_the_front(task: Task, now: float) -> Run:
    """Brought back by a person: first in the queue, with a fresh allowance of resumptions."""
    return replace(task.run, front=int(now), resumed=0, oom=0)


def archive(request: Request) -> Outcome:
    """Put it away."""
    old = WORDS[request.the_task().status]
    moved = apply(request.the_task(), Status.ARCHIVED, By.PERSON, request.now)
    return request.carry(moved, lambda task: f"{task.channel} is archived; it was {old}")
