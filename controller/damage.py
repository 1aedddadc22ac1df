"""Tasks whose METADATA somebody has damaged: the log tells their state, attempt and revision. Pure.

What the log does not tell stays as it can be read, and the state is then the one entered last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from controller.board import Board
from controller.repairs import OnServer
from shared.channels import parse_task_channel
from shared.ircv3.casemap import Folded, fold
from shared.task import Run, Status, Task, Times
from shared.task_metadata import Problems, from_metadata

_STARTED = (Status.IN_PROGRESS, Status.BLOCKED, Status.FOR_REVIEW)


@dataclass(frozen=True, slots=True)
class Lost:
    """A task of which `status`, `run` or `times` is lost, as far as the rest was read."""

    task: Task
    knows_status: bool


def is_damaged(channel: str, values: Mapping[str, str]) -> bool:
    """Whether something of a task is lost that the log may tell."""
    if not values or parse_task_channel(channel) is None:
        return False
    found = Problems()
    from_metadata(channel, values, "", found)
    return bool(found) or _is_lost(channel, values)


def _is_lost(channel: str, values: Mapping[str, str]) -> bool:
    """Without these three nothing can be decided about it."""
    core = {key: value for key, value in values.items() if key in ("status", "run", "times")}
    found = Problems()
    task = from_metadata(channel, {"requester": "?", **core}, "", found)
    never_started = task.status in _STARTED and task.run.attempt == 0
    return bool(found) or never_started or not task.times.entered or "status" not in core


def forget_lost(board: Board, stored: Mapping[Folded, Mapping[str, str]]) -> list[Lost]:
    """Take such tasks back to their beginning, so that the log can be applied to them."""
    lost: list[Lost] = []
    for task in board:
        values = stored.get(fold(task.channel), {})
        if values and _is_lost(task.channel, values):
            lost.append(Lost(task, values.get("status") in set(Status)))
            entered: dict[Status, int] = {
                status: at for status, at in task.times.entered.items() if status is Status.PENDING
            }
            fresh = replace(task, status=Status.PENDING, run=Run(), times=Times(0, entered))
            board.put(fresh)
    return lost


def mend(board: Board, lost: list[Lost], on_server: dict[Folded, OnServer]) -> None:
    """After the log was applied. Where it tells the newest revision all is written again."""
    for one in lost:
        channel, was = fold(one.task.channel), one.task
        task = board.get(was.channel)
        if task is None:
            continue
        if task.times.rev and task.times.rev >= was.times.rev:
            on_server[channel] = replace(on_server[channel], task=None, readable=True)
            continue
        status = was.status if one.knows_status else _last_entered(was)
        run = was.run if was.run.attempt else task.run
        times = was.times if was.times.entered else task.times
        board.put(replace(task, status=status, run=run, times=times))


def _last_entered(task: Task) -> Status:
    """Of two states entered in one second the later in a task's life."""
    order = list(Status)
    entered = [(at, order.index(status)) for status, at in task.times.entered.items()]
    return order[max(entered)[1]] if entered else Status.PENDING
