"""What workers report: directives of the control lane (design 6), each carried out once. Pure.

Accepted are only those of the task's own worker and attempt in the task's own channel; everything
else that looks like one changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from controller.board import Live
from controller.effects import Confirm, Effect, Job, Refuse, Say, SetMetadata, SetTopic, Spoken
from controller.lifecycle import Along, By, Refusal, apply, at_the_front
from controller.metas import NotMeta, with_meta
from controller.texts import next_step, state
from controller.transition import Told, event, move
from controller.waking import answered_before
from controller.world import World
from shared.directives import (
    CONTROL_TAG,
    Bye,
    ControlTag,
    FromWorker,
    Meta,
    PermissionAsked,
    StatusReport,
    UnknownDirective,
    parse_control_tag,
    parse_from_worker,
)
from shared.ircv3.casemap import fold
from shared.task import Status, Task, Why, parse_reason
from shared.task_metadata import changes

_WORKERS_OWN = frozenset(Why) - {Why.KILLED, Why.VANISHED}
"""Reasons that a worker may give."""
_AT_WORK = (Status.IN_PROGRESS, Status.BLOCKED, Status.FOR_REVIEW)
_PROTOCOL_GAP = "this controller does not know that directive"


@dataclass(frozen=True, slots=True)
class Report:
    """A directive that is truly this worker's."""

    line: Spoken
    task: Task
    tag: ControlTag

    @property
    def told(self) -> Told:
        return Told(cause=self.line.msgid, at=self.task.channel, seq=self.tag.seq)


def on_directive(world: World, line: Spoken, now: float) -> list[Job]:
    """The job of a tagged line; [] where it is none of ours."""
    report = _authentic(world, line)
    if report is None:
        return []
    task, seq = report.task, report.tag.seq
    live = world.board.live(task.channel)
    if report.tag.attempt != task.run.attempt:
        return [_refuse(report, f"attempt {report.tag.attempt} is over")] if line.live else []
    if world.log_lost and seq > live.inbox.highest:
        return []  # it repeats until that is over
    if not live.inbox.take(seq):
        return [_once_more(live, report)] if line.live else []
    done = _carry_out(world, report, parse_from_worker(line.text), now)
    if isinstance(done, str):
        live.refused[seq] = done
        return [_refuse(report, done)]
    confirm = Confirm(line.nick, line.msgid)
    return [Job(task.channel, (*done.effects, confirm, *done.said)), *done.then]


@dataclass(frozen=True, slots=True)
class _Done:
    effects: tuple[Effect, ...] = ()
    said: tuple[Effect, ...] = ()
    """After the confirmation."""
    then: tuple[Job, ...] = ()


def _authentic(world: World, line: Spoken) -> Report | None:
    """Account, channel, number: text of anybody else is no directive."""
    tag = parse_control_tag(line.tags.get(CONTROL_TAG, ""))
    task = world.board.get(line.place)
    if tag is None or task is None or line.account is None or task.run.worker is None:
        return None
    if fold(line.account) != fold(task.run.worker) or tag.task != task.number:
        return None
    return Report(line, task, tag) if tag.attempt <= task.run.attempt else None


def _once_more(live: Live, report: Report) -> Job:
    """Heard before: the same reply, no other effect. It repeats until it hears one."""
    if report.tag.seq in live.refused:
        return _refuse(report, live.refused[report.tag.seq])
    confirm = Confirm(report.line.nick, report.line.msgid)
    return Job(report.task.channel, (confirm,))


def _refuse(report: Report, why: str) -> Job:
    return Job(report.task.channel, (Refuse(report.line.nick, report.line.msgid, why),))


def _carry_out(world: World, report: Report, directive: FromWorker, now: float) -> _Done | str:
    """What was done, or why not."""
    match directive:
        case StatusReport():
            return _status(world, report, directive, now)
        case Meta(key, value):
            return _meta(world, report, key, value)
        case Bye(reason, last_msgid):
            return _bye(world, report, Bye(reason, last_msgid), now)
        case PermissionAsked() | UnknownDirective():
            return _PROTOCOL_GAP


def is_over(world: World, task: Task) -> bool:
    """Ended by a person: only totals of that attempt count."""
    reason = parse_reason(task.reason or "")
    killed = reason is not None and reason.why is Why.KILLED
    return (
        task.status not in _AT_WORK
        or killed
        or world.board.live(task.channel).ending_at is not None
    )


def _status(world: World, report: Report, directive: StatusReport, now: float) -> _Done | str:
    task = report.task
    if is_over(world, task):
        return f"{task.channel} is {state(task)}"
    along = Along()
    if directive.status is Status.BLOCKED:
        reason = parse_reason(directive.reason)
        if reason is None or reason.why not in _WORKERS_OWN:
            return f"“{directive.reason[:40]}” is no reason that a worker can give"
        along = Along(reason=reason)
    moved = apply(task, directive.status, By.WORKER, now, along)
    if isinstance(moved, Refusal):
        return f"{task.channel}: {moved}"
    unheard = list(world.board.live(task.channel).unheard)
    effects = move(world, moved, report.told, now)
    then: list[Job] = []
    if moved.task.status is Status.BLOCKED:
        then = answered_before(world, moved.task, unheard, now)
    return _Done(effects, _said(world, task, moved.task), tuple(then))


def _said(world: World, old: Task, task: Task) -> tuple[Effect, ...]:
    """A change is said; what a person must notice begins with the nick (design 16)."""
    channel = task.channel
    if task.status is old.status and task.status is Status.IN_PROGRESS:
        return ()
    if task.status is Status.IN_PROGRESS:
        return (Say(channel, (f"{channel} is in progress again",), notice=True),)
    if task.status is Status.FOR_REVIEW:
        steps = "!complete accepts it, !reopen <note> sends it back, or talk to the worker here"
        return (to_requester(world, task, f"{channel} is ready for review: {steps}"),)
    # The worker itself has called the requester, with the question or the cause.
    return (Say(channel, (f"{channel} is {state(task)}; {next_step(task)}",), notice=True),)


def to_requester(world: World, task: Task, text: str) -> Say:
    """A line in the task's channel that its requester must notice."""
    if task.requester is None:
        return Say(task.channel, (text,))
    return Say(task.channel, (f"{world.board.nick_of(task.channel, task.requester)}: {text}",))


def _meta(world: World, report: Report, key: str, value: str) -> _Done | str:
    old = report.task
    task = with_meta(old, key, value)
    if isinstance(task, NotMeta):
        return task.why
    if task.usage == old.usage and is_over(world, old):
        return f"{old.channel} is {state(old)}; only totals are taken now"
    if task == old:
        return _Done()
    world.board.put(task)
    written = changes(old, task)
    effects = _meta_events(report, old, task, key)
    if written:
        effects.append(SetMetadata(task.channel, written))
    if task.title != old.title:
        effects.append(SetTopic(task.channel, task.topic))
    return _Done(tuple(effects))


def _meta_events(report: Report, old: Task, task: Task, key: str) -> list[Effect]:
    """`cost` where it has a field for what changed; turns stand in METADATA alone."""
    told, usage = report.told, task.usage
    if usage == old.usage:
        value = ",".join(task.blocked_by) if key == "blocked_by" else getattr(task, key)
        return [event(task, "task_updated", told, field=key, value=value or "")]
    totals = {
        "cost_usd": round(usage.cost_usd, 6),
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
    }
    if key not in (*totals, "cost"):
        return []
    return [event(task, "cost", told, worker=task.run.worker, **totals)]


def _bye(world: World, report: Report, bye: Bye, now: float) -> _Done:
    """It goes; lines that it has not taken are handled as to a worker that is gone."""
    task = report.task
    live = world.board.live(task.channel)
    live.leaving = live.leaving or bye.reason
    if is_over(world, task):
        return _Done()
    missed = _missed(world, task, bye.last_msgid)
    if task.status is not Status.IN_PROGRESS and missed is None:
        return _Done()
    by = By.CONTROLLER if task.status is Status.IN_PROGRESS else By.PERSON
    if by is By.CONTROLLER and bye.reason != "idle":
        return _Done()
    along = Along(run=at_the_front(task.run, now))
    moved = apply(task, Status.READY, by, now, along)
    if isinstance(moved, Refusal):
        return _Done()
    told = replace(report.told, cause=missed or report.told.cause)
    return _Done(move(world, moved, told, now))


def _missed(world: World, task: Task, last_msgid: str) -> str | None:
    """The newest line with the power to wake that this worker has not taken."""
    lines = list(world.board.live(task.channel).lines)
    if last_msgid not in lines or lines[-1] == last_msgid:
        return None
    return lines[-1]
