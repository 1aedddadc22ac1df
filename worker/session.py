"""The life of a worker in its room, as decisions (design 5, 6, 12). Pure.

    STARTING -> WORKING <-> BLOCKED, WORKING <-> IN_REVIEW, any -> LEAVING

`feed` takes one happening and returns what to do about it, in order. A blocked worker goes on only
by `[resume]`: the controller decides whose line may wake it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from shared import directives as orders
from shared.task import Status, Usage, Why
from worker import effects, farewells
from worker.agent.events import RunEnd, RunReason
from worker.allowance import Allowances
from worker.conversation import Conversation
from worker.effects import Action, Direct, Directed, RoomLine, Say
from worker.orders import by_whom, named_line, note_preface, said_line
from worker.outcome import Outcome, outcome_of, spoken, stopped, stuck
from worker.work import Work

_GO_ON = "Go on with the task."


class Phase(Enum):
    """Where the worker stands."""

    STARTING = "starting"
    WORKING = "working"
    BLOCKED = "blocked"
    IN_REVIEW = "in review"
    LEAVING = "leaving"


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """What does not change during an attempt."""

    requester: str
    idle_exit_seconds: float
    allowances: Allowances
    usage: Usage
    """Totals of the attempts before."""


class Session:
    """The state of one attempt. `now` is monotonic seconds everywhere."""

    def __init__(self, config: SessionConfig, conversation: Conversation, now: float) -> None:
        self.phase = Phase.STARTING
        self._config = config
        self._conversation = conversation
        self._work = Work(config.allowances, config.usage)
        self._prepared: effects.Prepared | None = None
        self._first_message = ""
        """Until it is used."""
        self._blocked_by: Why | None = None
        self._prefaces: list[str] = []
        """What `[resume]`s brought before there was an agent."""
        self._stops: list[Directed] = []
        """`[stop]`s that are being carried out."""
        self._awaited: str | None = None
        """msgid of the line that woke us and is being looked up."""
        self._departure: effects.Leave | None = None
        self._last_report: orders.StatusReport | None = None
        self._handed_in = False
        self._spoken_at = now

    def feed(self, happening: effects.Input, now: float) -> list[Action]:
        match happening:
            case effects.Heard(line):
                return self._hear(line, now)
            case Directed():
                return self._directed(happening, now)
            case effects.LineFound(msgid, line):
                return self._found(msgid, line, now)
            case effects.RunOver(end):
                return self._run_over(end, now)
            case effects.Tick():
                return self._tick(now)
            case effects.Terminate():
                return self._depart(farewells.TERMINATED, now)
            case effects.Prepared():
                return self._ready(happening, now)
            case effects.PreparationFailed(why):
                failed = self._report(stuck(Why.FAILED, why, self._config.requester))
                return [*failed, *self._depart(farewells.NOT_STARTED, now)]
            case _:
                return self._turn(happening, now)

    def wake_at(self) -> float | None:
        """When a Tick has something to decide; None: only happenings count."""
        if self._work.running:
            return self._work.deadline()
        if self.phase in (Phase.BLOCKED, Phase.IN_REVIEW):
            return self._spoken_at + self._config.idle_exit_seconds
        return None

    # People

    def _hear(self, line: RoomLine, now: float) -> list[Action]:
        if self.phase is Phase.LEAVING:
            return []
        self._spoken_at = now
        self._conversation.heard(line)
        if self.phase in (Phase.STARTING, Phase.BLOCKED):
            self._conversation.hold(line)
        elif not self._conversation.interrupts(line):
            self._conversation.note(line)
        elif self.phase is Phase.IN_REVIEW:
            return self._start_run(now, [line])
        else:
            return self._conversation.steer(line)
        return []

    # The controller

    def _directed(self, order: Directed, now: float) -> list[Action]:
        """Everything but a stop is confirmed at once; what cannot be done is refused."""
        directive = order.directive
        confirm = effects.Confirm(order.nick, order.msgid)
        if isinstance(directive, orders.Leave):
            return [confirm, *self._depart(farewells.dismissed(directive.reason), now)]
        if self.phase is Phase.LEAVING:
            return [effects.Refuse(order.nick, order.msgid, "the worker is leaving")]
        match directive:
            case orders.Stop():
                return self._begin_stop(order, now)
            case orders.Resume(note):
                return [confirm, *self._resumed(order, note, now)]
            case orders.Say():
                return [confirm, *self._hear(said_line(directive), now)]
            case orders.Budget(usd):
                self._work.raise_budget(usd)
                return [confirm]
            case orders.PermissionVerdict(perm_id):
                why = f"no question {perm_id} is open"
            case orders.UnknownDirective():
                why = "this worker does not know the directive"
            case _:
                assert_never(directive)
        return [effects.Refuse(order.nick, order.msgid, why)]

    def _begin_stop(self, order: Directed, now: float) -> list[Action]:
        """Abort what runs; the confirmation waits for its end. Idle: park at once."""
        self._awaited = None
        if self._work.running:
            self._stops.append(order)
            return [effects.Abort()]
        confirm = effects.Confirm(order.nick, order.msgid)
        if self.phase is Phase.BLOCKED:
            return [Say("⏹ stopped already", urgent=True), confirm]
        self._spoken_at = now
        return [*self._report(stopped(by_whom(order))), confirm]

    def _resumed(self, order: Directed, note: str, now: float) -> list[Action]:
        """The line that it names becomes the answer; without one, its note does."""
        msgid = named_line(order, note)
        if self.phase is Phase.WORKING and note and msgid is None:
            return self._conversation.steer_note(note_preface(note), order.msgid)
        if self.phase not in (Phase.BLOCKED, Phase.IN_REVIEW):
            return []
        if msgid is None:
            return self._resume(now, preface=note_preface(note))
        line = self._conversation.held_line(msgid)
        if line is not None:
            return self._resume(now, [line])
        if self._conversation.is_given(msgid):
            return self._resume(now) if self._conversation.waiting else self._still()
        self._awaited = msgid
        return [effects.FindLine(msgid)]

    def _found(self, msgid: str, line: RoomLine | None, now: float) -> list[Action]:
        if self._awaited != msgid:
            return []
        self._awaited = None
        return self._resume(now, [line] if line else [], "" if line else _GO_ON)

    # Runs

    def _ready(self, prepared: effects.Prepared, now: float) -> list[Action]:
        self._prepared = prepared
        self._first_message = prepared.first_message
        self._conversation.adopt(prepared.fence, prepared.included, prepared.newest)
        return self._start_run(now) if self.phase is Phase.STARTING else []

    def _resume(
        self, now: float, lines: Sequence[RoomLine] = (), preface: str = ""
    ) -> list[Action]:
        """A new run, with one more allowance of what was used up."""
        granted = self._work.grant(self._blocked_by) if self._blocked_by else ""
        said: list[Action] = [effects.Note(f"going on: {granted}")] if granted else []
        return [*said, *self._start_run(now, lines, preface)]

    def _start_run(
        self, now: float, lines: Sequence[RoomLine] = (), preface: str = ""
    ) -> list[Action]:
        self._blocked_by = self._awaited = None
        if self._prepared is None:  # stopped and resumed before the agent was there
            self.phase = Phase.STARTING
            self._prefaces.append(preface)
            for line in lines:
                self._conversation.hold(line)
            return []
        before = dict.fromkeys((self._first_message, *self._prefaces, preface))
        spoken_to = bool(preface) or bool(self._prefaces)
        self._first_message, self._prefaces = "", []
        self.phase = Phase.WORKING
        self._work.begin(now)
        text = "\n\n".join(filter(None, before))
        prompt = self._conversation.prompt(lines, text, spoken_to=spoken_to)
        if not prompt.text and self._conversation.unread:
            return [effects.Continue()]
        return [prompt if prompt.text else effects.Prompt(_GO_ON)]

    def _turn(self, happening: effects.AgentNews, now: float) -> list[Action]:
        match happening:
            case effects.TurnBegan():
                beat = Direct(orders.StatusReport(Status.IN_PROGRESS))
                return [beat] if self.phase is Phase.WORKING else []
            case effects.Entered(reference):
                return self._conversation.entered(reference)
            case effects.TurnOver(usage):
                metas: list[Action] = [Direct(meta) for meta in self._work.note(usage, now)]
                return [*metas, *self._enforce_bounds(now)]
            case effects.DirectiveRefused(orders.StatusReport(Status.IN_PROGRESS)):
                return []
            case effects.DirectiveRefused(orders.StatusReport(status), why):
                return [effects.Note(f"the controller does not take [status] {status}: {why}")]
            case effects.DirectiveRefused():
                return []
        assert_never(happening)

    def _run_over(self, end: RunEnd, now: float) -> list[Action]:
        self._work.over(now)
        self._spoken_at = now
        stops, self._stops = self._stops, []
        confirm = [effects.Confirm(stop.nick, stop.msgid) for stop in stops]
        if self._departure is not None:
            return [*confirm, *self._totals(now), self._departure]
        if end.reason is RunReason.COMPLETED and self._conversation.unread and not stops:
            self._work.begin(now)
            return [*spoken(end.text), effects.Continue()]
        return [*self._totals(now), *self._report(self._outcome(end, stops)), *confirm]

    def _outcome(self, end: RunEnd, stops: Sequence[Directed]) -> Outcome:
        requester = self._config.requester
        exceeded = self._work.take_exceeded()
        if stops:
            return stopped(by_whom(stops[0]))
        if end.reason is not RunReason.ABORTED:
            return outcome_of(end, requester, first=not self._handed_in)
        if exceeded is not None:
            return stuck(exceeded.why, exceeded.detail, requester)
        return stuck(Why.FAILED, end.error or "the run was aborted", requester)

    def _still(self) -> list[Action]:
        """A line from before our report answers nothing: the report still holds."""
        return [Direct(self._last_report)] if self._last_report else []

    def _report(self, outcome: Outcome) -> list[Action]:
        """First the words, then the directive."""
        self._last_report = outcome.report
        self._blocked_by = outcome.why
        self.phase = Phase.BLOCKED if outcome.why else Phase.IN_REVIEW
        self._handed_in = self._handed_in or not outcome.why
        said: list[Action] = [Say(text, urgent=True) for text in outcome.said]
        return [*said, Direct(outcome.report)]

    def _totals(self, now: float) -> list[Action]:
        return [Direct(meta) for meta in self._work.report(now)]

    # Time, and the end

    def _tick(self, now: float) -> list[Action]:
        wake_at = self.wake_at()
        if self._work.running or wake_at is None or now < wake_at:
            return self._enforce_bounds(now)
        bye = Direct(orders.Bye("idle", self._conversation.last_taken))
        return self._depart(farewells.IDLE, now, bye)

    def _enforce_bounds(self, now: float) -> list[Action]:
        return [effects.Abort()] if self._work.hits_bound(now) else []

    def _depart(self, leave: effects.Leave, now: float, *last: Action) -> list[Action]:
        """The words at once; the end when what runs has ended and the totals are told."""
        if self._departure is not None:
            return []
        self.phase = Phase.LEAVING
        self._departure = leave
        self._awaited = None
        farewell = Say(leave.farewell, urgent=True)
        if self._work.running:
            return [farewell, *last, effects.Abort()]
        return [farewell, *self._totals(now), *last, leave]
