"""Judging the work: `!complete !reopen !archive`. Pure."""

from __future__ import annotations

from dataclasses import replace

from controller.commands.draft import place_in_queue
from controller.commands.look import stands
from controller.commands.request import Outcome, Request, short
from controller.lifecycle import WORDS, Along, By, Refusal, apply, at_the_front
from controller.transition import direct, moved_last
from shared.directives import Resume
from shared.task import Status

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
    if request.world.board.worker_stays(task):
        moved = apply(task, Status.IN_PROGRESS, By.PERSON, request.now)
        return request.carry(
            moved, lambda t: f"{t.channel} is in progress: {t.run.worker} goes on", _note(request)
        )
    along = Along(run=at_the_front(task.run, request.now))
    moved = apply(task, Status.READY, By.PERSON, request.now, along)
    return request.carry(moved, lambda t: place_in_queue(request.world, t))


def reopened(request: Request) -> Outcome:
    """After a restart: the worker takes each msgid once, so it is told again."""
    task, outcome = request.the_task(), stands(request)
    goes_on = task.status is Status.IN_PROGRESS and request.world.board.worker_stays(task)
    if not goes_on or not moved_last(request.done, task):
        return outcome
    again = direct(task, Resume(_note(request)), request.line.msgid)
    return replace(outcome, effects=(again,))


def _note(request: Request) -> str:
    return " ".join(request.args.split()) or f"reopened by {request.account}"


def archive(request: Request) -> Outcome:
    """Put it away."""
    old = WORDS[request.the_task().status]
    moved = apply(request.the_task(), Status.ARCHIVED, By.PERSON, request.now)
    return request.carry(moved, lambda task: f"{task.channel} is archived; it was {old}")
