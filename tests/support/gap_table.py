"""Every gap between two effects of every transition: the table is made from TRANSITIONS.

A case says how a task comes to where the row begins, and what sets the row off. Played on paper
(with the pure core) it tells the effects that this row's job really has, and how all of it ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from controller.effects import Answer, Direct, Effect, Job, Publish
from controller.lifecycle import ROWS, By, Row
from shared.firehose import Event
from shared.ircv3.casemap import fold
from shared.task import Status, Task
from tests.support.core_story import Story, effects

REQUESTER = "alice"
MANY = 1000


@dataclass(frozen=True, slots=True)
class Say:
    """The requester says it in the task's channel; `!new` in #tasks."""

    text: str


@dataclass(frozen=True, slots=True)
class Report:
    """A directive of the task's worker."""

    text: str


@dataclass(frozen=True, slots=True)
class Arrives:
    """A worker that was started joins the task's channel."""


@dataclass(frozen=True, slots=True)
class Ends:
    """The worker ends, by itself or because it was told to."""

    cause: str


@dataclass(frozen=True, slots=True)
class Leaves:
    """The worker goes because it was told to; nobody does anything for it."""


Step: TypeAlias = Say | Report | Arrives | Ends | Leaves
Key: TypeAlias = tuple[Status | None, Status, By]


@dataclass(frozen=True, slots=True)
class Case:
    """How one row comes about."""

    trigger: Step
    before: tuple[Step, ...] = ()
    after: tuple[Step, ...] = ()
    """What follows by itself from the trigger."""
    starts: bool = False
    """Whether workers are started from the trigger on; before it they are where one is needed."""

    @property
    def needs_worker(self) -> bool:
        return Arrives() in self.before


NEW = Say("!new {title}")
DRAFT = (NEW,)
READY = (*DRAFT, Say("!ready"))
WORKING = (*READY, Arrives())
BLOCKED = (*WORKING, Report("[status] blocked question: Which season?"))
BLOCKED_ALONE = (*BLOCKED, Ends("completed"))
REVIEW = (*WORKING, Report("[status] for_review"))
REVIEW_ALONE = (*REVIEW, Ends("completed"))
DONE = (*REVIEW, Say("!complete"), Leaves())
KILLED = (Ends("killed"),)
LEFT = (Leaves(),)

_P, _R, _I = Status.PENDING, Status.READY, Status.IN_PROGRESS
_B, _V, _D, _A = Status.BLOCKED, Status.FOR_REVIEW, Status.DONE, Status.ARCHIVED

CASES: Mapping[Key, tuple[Case, ...]] = {
    (None, _P, By.PERSON): (Case(NEW),),
    (_P, _R, By.PERSON): (Case(Say("!ready"), DRAFT),),
    (_R, _P, By.PERSON): (Case(Say("!unready"), READY),),
    (_R, _I, By.DISPATCHER): (Case(Say("!ready"), DRAFT, (Arrives(),), starts=True),),
    (_I, _I, By.WORKER): (Case(Report("[status] in_progress"), WORKING),),
    (_I, _B, By.WORKER): (Case(BLOCKED[-1], WORKING),),
    (_I, _V, By.WORKER): (Case(REVIEW[-1], WORKING),),
    (_I, _R, By.CONTROLLER): (Case(Ends("evicted"), WORKING),),
    (_I, _B, By.CONTROLLER): (Case(Ends("error"), WORKING),),
    (_I, _B, By.PERSON): (Case(Say("!kill"), WORKING, KILLED),),
    (_B, _B, By.WORKER): (Case(Report("[status] blocked turns"), BLOCKED),),
    (_B, _B, By.PERSON): (Case(Say("!kill"), BLOCKED, KILLED),),
    (_B, _I, By.PERSON): (Case(Say("Autumn"), BLOCKED), Case(Say("!reopen now"), BLOCKED)),
    (_B, _R, By.PERSON): (
        Case(Say("Autumn"), BLOCKED_ALONE),
        Case(Say("!reopen now"), BLOCKED_ALONE),
    ),
    (_V, _I, By.WORKER): (Case(Report("[status] in_progress"), REVIEW),),
    (_V, _I, By.PERSON): (Case(Say("!reopen now"), REVIEW),),
    (_V, _R, By.PERSON): (
        Case(Say("Once more"), REVIEW_ALONE),
        Case(Say("!reopen now"), REVIEW_ALONE),
    ),
    (_V, _B, By.PERSON): (Case(Say("!kill"), REVIEW, KILLED),),
    (_V, _D, By.PERSON): (Case(Say("!complete"), REVIEW, LEFT),),
    (_D, _R, By.PERSON): (Case(Say("!reopen now"), DONE),),
    (_P, _A, By.PERSON): (Case(Say("!archive"), DRAFT),),
    (_R, _A, By.PERSON): (Case(Say("!archive"), READY),),
    (_I, _A, By.PERSON): (Case(Say("!archive"), WORKING, LEFT),),
    (_B, _A, By.PERSON): (Case(Say("!archive"), BLOCKED, LEFT),),
    (_V, _A, By.PERSON): (Case(Say("!archive"), REVIEW, LEFT),),
    (_D, _A, By.PERSON): (Case(Say("!archive"), DONE),),
}
"""At least one for each row of TRANSITIONS."""


@dataclass(frozen=True, slots=True)
class Facts:
    """A task as it must be the same whether or not something died: no clock, no names."""

    status: str
    reason: str | None
    requester: str | None
    has_assignee: bool
    attempt: int
    joined: bool
    exited: str | None
    in_front: bool
    resumed: int
    rev: int
    entered: frozenset[Status]


def facts_of(task: Task) -> Facts:
    run = task.run
    return Facts(
        status=str(task.status),
        reason=task.reason,
        requester=task.requester,
        has_assignee=task.assignee is not None and task.assignee == run.worker,
        attempt=run.attempt,
        joined=run.joined is not None,
        exited=run.exited,
        in_front=run.front is not None,
        resumed=run.resumed,
        rev=task.times.rev,
        entered=frozenset(task.times.entered),
    )


@dataclass(frozen=True, slots=True)
class Told:
    """An event as far as it must be the same in every run."""

    kind: str
    prev_status: str | None
    status: str | None
    rev: int | None


def told_of(event: Event) -> Told:
    fields = event.fields
    return Told(event.kind, fields.get("prev_status"), fields.get("status"), fields.get("rev"))


def without_renaming(events: Iterable[Told]) -> tuple[Told, ...]:
    """A name whose account was made and not yet listed is a person's from then on (design 3): the
    task is assigned once more, to another name."""
    kept: list[Told] = []
    for event in events:
        if event.kind != "task_assigned" or event not in kept[-2:]:
            kept.append(event)
    return tuple(kept)


class OnPaper:
    """A case played with the core alone."""

    def __init__(self, case: Case, title: str) -> None:
        self._story = Story(max_active_total=MANY if case.needs_worker else 0)
        self._title = title
        self._seq = 0
        self.effects: list[Effect] = []
        """Of all steps so far."""
        self._story.sweep()

    @property
    def task(self) -> Task:
        return self._story.task()

    @property
    def events(self) -> list[Told]:
        return [told_of(e.event) for e in self.effects if isinstance(e, Publish)]

    def hold_starts(self, *, starts: bool) -> None:
        world = self._story.core.world
        world.settings = replace(world.settings, max_active_total=MANY if starts else 0)

    def play(self, step: Step) -> list[Job]:
        jobs = self._jobs(step)
        self.effects += effects(jobs)
        return jobs

    def _jobs(self, step: Step) -> list[Job]:
        story = self._story
        match step:
            case Say(text):
                place = "#tasks" if text.startswith("!new") else "#task-1"
                return story.say(text.format(title=self._title), place, nick=REQUESTER)
            case Report(text):
                self._seq += 1
                return story.report(text, self._seq)
            case Arrives():
                run = self.task.run
                jobs = story.spawned(attempt=run.attempt)
                return [*jobs, *story.join(str(run.worker)), *story.sweep(after=1)]
            case Ends(cause):
                return self._end(cause)
            case Leaves():
                return self._end("completed")

    def _end(self, cause: str) -> list[Job]:
        run = self.task.run
        self._story.leave(str(run.worker))
        return self._story.ended(cause, attempt=run.attempt)


@dataclass(frozen=True, slots=True)
class Gaps:
    """One case with everything that paper tells of it."""

    row: Row
    case: Case
    effects: tuple[Effect, ...]
    """What the trigger does in the task's lane, up to the end of the row's job: the gap `n` lies
    before the effect of this index."""
    after_steps: tuple[Facts, ...]
    """How the task stands after each step of `before`."""
    end: Facts
    events: tuple[Told, ...]
    """All of the task, in order."""
    answers: int
    """To the trigger: 1 where it is a command."""
    heard: tuple[str, ...]
    """What the worker of the last attempt was told, each once."""

    @property
    def kinds(self) -> list[str]:
        return [type(effect).__name__ for effect in self.effects]

    @property
    def name(self) -> str:
        start = self.row.start or "nothing"
        words = self.case.trigger
        text = words.text if isinstance(words, Say | Report) else f"worker ends {words}"
        return f"{start}-{self.row.to}-{self.row.by}: {text}"


def gap_table() -> Iterator[Gaps]:
    """A KeyError names the row that has no case."""
    for key, row in ROWS.items():
        for case in CASES[key]:
            yield _played(row, case)


def _played(row: Row, case: Case) -> Gaps:
    paper = OnPaper(case, "a task")
    after_steps = []
    for step in case.before:
        paper.play(step)
        after_steps.append(facts_of(paper.task))
    paper.hold_starts(starts=case.starts)
    jobs = paper.play(case.trigger)
    lane = paper.task.channel
    own = [job for job in jobs if fold(job.lane) == fold(lane)]
    last = max(index for index, job in enumerate(own) if _is_of(row, job))
    counted = tuple(effects(own[: last + 1]))
    for step in case.after:
        paper.play(step)
    return Gaps(
        row=row,
        case=case,
        effects=counted,
        after_steps=tuple(after_steps),
        end=facts_of(paper.task),
        events=tuple(paper.events),
        answers=sum(isinstance(effect, Answer) for effect in counted),
        heard=tuple(type(e.directive).__name__ for e in paper.effects if isinstance(e, Direct)),
    )


def _is_of(row: Row, job: Job) -> bool:
    """Whether this job carries the row out."""
    events = [told_of(e.event) for e in job.effects if isinstance(e, Publish)]
    if row.start is None:
        return any(event.kind == "task_created" for event in events)
    return any((e.prev_status, e.status) == (row.start, row.to) for e in events)
