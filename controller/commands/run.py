"""Work under way: `!stop !kill`. Pure."""

from __future__ import annotations

from controller.commands.request import Outcome, Request, refused
from controller.lifecycle import Along, By, Refusal, apply
from controller.transition import direct
from shared.directives import Stop
from shared.task import Reason, Status, Why


def stop(request: Request) -> Outcome:
    """Ask the worker to abort its turn; it reports `blocked: stopped` itself."""
    task = request.the_task()
    if task.status is not Status.IN_PROGRESS:
        return request.carry(Refusal.of(task), str)
    if not request.world.board.worker_stays(task):
        return refused(f"{task.channel} has no live worker to stop; !kill parks it")
    line = f"{task.channel}: the worker stops and parks; plain text or !reopen goes on"
    late = f"{task.channel}: the worker has not confirmed the stop, so it is ended"
    return Outcome(
        (line,),
        (direct(task, Stop(request.account), request.line.msgid),),
        if_unconfirmed=(late,),
    )


def kill(request: Request) -> Outcome:
    """End the worker."""
    task = request.the_task()
    board = request.world.board
    waits = task.status in (Status.BLOCKED, Status.FOR_REVIEW)
    if waits and not board.worker_stays(task) and not board.seen(task):
        return refused(f"{task.channel} has no live worker; !reopen starts one")
    moved = apply(
        task,
        Status.BLOCKED,
        By.PERSON,
        request.now,
        Along(reason=Reason(Why.KILLED, f"by {request.account}")),
    )
    return request.carry(
        moved, lambda _: f"{task.channel} is blocked: its worker is ended; !reopen brings it back"
    )
