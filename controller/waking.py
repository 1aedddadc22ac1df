"""What a person's plain line does to a task that waits (the table of design 5). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controller.commands.request import Role, role_of
from controller.effects import Handled, Job, Say, Spoken
from controller.intake import Standing
from controller.lifecycle import WORDS, Along, By, Refusal, apply, at_the_front
from controller.log_loss import CAUSE
from controller.texts import BOUNDS, unping
from controller.transition import Told, direct, move, moved_last
from controller.world import World
from shared.directives import Resume
from shared.firehose import Record
from shared.task import Status, Task, Why, parse_reason

HINT_SECONDS = 3600
_OWNERS = frozenset({Role.ASSIGNEE, Role.REQUESTER, Role.MAINTAINER})
_WITHOUT_ASSIGNEE = frozenset({Role.REQUESTER, Role.MAINTAINER})

WAKES: Mapping[Why, frozenset[Role]] = {
    Why.QUESTION: _OWNERS,
    Why.STOPPED: _WITHOUT_ASSIGNEE,
    Why.BUDGET: _WITHOUT_ASSIGNEE,
    Why.TURNS: _WITHOUT_ASSIGNEE,
    Why.DEADLINE: _WITHOUT_ASSIGNEE,
    Why.LOOP: _WITHOUT_ASSIGNEE,
    Why.TOOL_TIME: _WITHOUT_ASSIGNEE,
}
"""Who wakes a blocked task by plain text; the other reasons need a command."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A plain line, and what is known of it."""

    line: Spoken
    standing: Standing
    done: tuple[Record, ...] = ()


def on_plain(world: World, heard: Heard, now: float) -> list[Job]:
    """[] = it is talk, or a note that the worker reads from the channel."""
    line = heard.line
    task = world.board.get(line.place)
    if task is None or line.account is None:
        return []
    live = world.board.live(task.channel)
    live.last_activity = max(live.last_activity, line.at)
    if heard.standing is Standing.DONE:
        return _once_more(world, task, heard)
    role = role_of(world, line.account, task)
    if task.status in (Status.PENDING, Status.READY):
        live.notes += 1
        return []
    if role in _OWNERS or _may_steer(world, task):
        live.lines.append(line.msgid)
    if task.status is Status.IN_PROGRESS:
        live.unheard.append(line)
        return []
    if _is_older(task, line):
        return []
    if _wakes(world, task, role) and world.log_lost:
        return [_not_now(task, line)]
    if _wakes(world, task, role):
        return [_woken(world, task, line, now)]
    return _hint(world, task, line, role, now)


def answered_before(world: World, task: Task, lines: Sequence[Spoken], now: float) -> list[Job]:
    """People may answer a question before the worker has reported that it is blocked by it."""
    for line in reversed(lines):
        if role_of(world, line.account, task) in wakers(task):
            return [_woken(world, task, line, now)]
    return []


def _is_older(task: Task, line: Spoken) -> bool:
    """A missed line from before the task began to wait answers nothing."""
    return not line.live and line.at < task.times.entered.get(task.status, 0)


def _may_steer(world: World, task: Task) -> bool:
    return task.status is Status.FOR_REVIEW and world.settings.steer == "members"


def _wakes(world: World, task: Task, role: Role) -> bool:
    if task.status is Status.BLOCKED:
        return role in wakers(task)
    if task.status is not Status.FOR_REVIEW or world.board.worker_stays(task):
        return False
    return role in _OWNERS or _may_steer(world, task)


def wakers(task: Task) -> frozenset[Role]:
    reason = parse_reason(task.reason or "")
    return frozenset() if reason is None else WAKES.get(reason.why, frozenset())


def _woken(world: World, task: Task, line: Spoken, now: float) -> Job:
    """A live worker goes on; else the task goes to the front of the queue, with memory."""
    told = Told(by=line.account or "", cause=line.msgid, at=task.channel, resume=line.msgid)
    stays = world.board.worker_stays(task)
    to = Status.IN_PROGRESS if stays else Status.READY
    along = Along() if stays else Along(run=at_the_front(task.run, now))
    moved = apply(task, to, By.PERSON, now, along)
    if isinstance(moved, Refusal):
        raise AssertionError(f"{task.channel}: {moved}")  # the table has both rows
    effects = move(world, moved, told, now)
    said = Say(task.channel, (_words(task, moved.task, line),), notice=True)
    return Job(task.channel, (*effects, said, Handled(line.msgid, line.at)))


def _not_now(task: Task, line: Spoken) -> Job:
    """It is not in the history either: nobody would find it later."""
    text = f"{line.nick}: {CAUSE}; please say that again later"
    return Job(task.channel, (Say(task.channel, (text,)),))


def _words(old: Task, task: Task, line: Spoken) -> str:
    reason = parse_reason(old.reason or "")
    granted = ""
    if reason is not None and reason.why in BOUNDS:
        granted = f"; {unping(line.account or '')} grants one more allowance"
    if task.status is Status.IN_PROGRESS:
        return f"{task.channel} is in progress: {task.run.worker} goes on{granted}"
    return f"{task.channel} is ready, at the front of the queue; a worker comes back{granted}"


def _once_more(world: World, task: Task, heard: Heard) -> list[Job]:
    """It woke the task before a restart. The worker takes each msgid once, so it is told again."""
    line = heard.line
    woke = moved_last(heard.done, task)
    if not woke or task.status is not Status.IN_PROGRESS or not world.board.worker_stays(task):
        return []
    again = direct(task, Resume(line.msgid), line.msgid)
    return [Job(task.channel, (again, Handled(line.msgid, line.at)))]


def _hint(world: World, task: Task, line: Spoken, role: Role, now: float) -> list[Job]:
    """A line to nobody is answered by what would help, once per hour."""
    live = world.board.live(task.channel)
    nobody_there = not world.board.worker_stays(task)
    mute = task.status is Status.BLOCKED and (role not in _OWNERS or wakers(task))
    if mute or not nobody_there or not line.live or now - live.hinted_at < HINT_SECONDS:
        return []
    live.hinted_at = now
    helps = "!new in #tasks makes another" if task.status is Status.ARCHIVED else "!reopen helps"
    text = f"{task.channel} is {WORDS[task.status]} and no worker is here; {helps}"
    return [Job(task.channel, (Say(task.channel, (text,), notice=True),))]
