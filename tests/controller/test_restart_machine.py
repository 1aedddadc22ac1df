"""Killed in any gap, at any time, as often as you like: nothing is lost and nothing done twice.

Core, server and engine on paper. The controller dies after a chosen number of effects and is built
anew from what the server holds; lines are read back, workers repeat what was not confirmed.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from controller.board import Board
from controller.core import Core
from controller.effects import (
    Answer,
    Confirm,
    DescriptionRead,
    Direct,
    Effect,
    Handled,
    Job,
    Kill,
    PostDescription,
    Publish,
    Refuse,
    SetMetadata,
    SetTopic,
    Spawn,
    Spawned,
    SpawnFailed,
    Spoken,
    Tick,
    WorkersListed,
)
from controller.lifecycle import ROWS
from controller.spawner import WorkerList, WorkerRef, WorkerSeen, WorkerState
from controller.transition import second_kind
from shared.channels import TASKS
from shared.directives import Leave, Resume
from shared.task import Status, Task
from tests.support.core_story import Story
from tests.support.paper_server import Held, PaperServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

CREATED = "task_created"
TOTAL, EACH, MOST_TASKS = 2, 1, 3
PEOPLE = ("alice", "bob")
COMMANDS = (
    "!ready", "!unready", "!desc New text", "!desc +More", "!complete", "!reopen", "!reopen note",
    "!kill", "!archive", "!status", "an answer", "!nonsense",
)  # fmt: skip
REPORTS = (
    "[status] in_progress", "[status] for_review", "[status] blocked question: Why?",
    "[status] blocked turns", "[meta] cost_usd=0.5", "[meta] title=Another", "[bye] idle -",
)  # fmt: skip
WAITS = ("[status] for_review", "[status] blocked question: Why?")
CAUSES = ("", "evicted", "error", "oom", "completed")
numbers = st.integers(1, MOST_TASKS)
fuses = st.sampled_from([None, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 11])
"""After how many effects the controller dies; None = it does not."""


class Died(Exception):
    """As by kill -9."""


@dataclass
class Waiting:
    """A worker's directive that was not confirmed."""

    number: int
    attempt: int
    seq: int
    text: str


class RestartMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.story = Story(max_active_total=TOTAL, max_active_per_requester=EACH)
        self.server = PaperServer()
        self.lines: list[Spoken] = []
        self.answers: Counter[str] = Counter()
        self.posts: dict[str, str] = {}
        self.waiting: dict[tuple[int, int], Waiting] = {}
        self.resumed: set[str | None] = set()
        """msgids that workers were told to go on for."""
        self.seqs: Counter[tuple[int, int]] = Counter()
        self.revs: Counter[str] = Counter()
        self.states: dict[str, str] = {}
        self.engine_refuses = False
        self.dying: set[tuple[int, int]] = set()
        self.before: list[tuple[float, Held]] = []
        """What the server held before each write, and when that was."""
        self.fuse: int | None = None
        self.under_way: deque[Effect] = deque()
        self.told = "", Waiting(0, 0, 0, "")
        self.restart()

    # The controller

    @property
    def board(self) -> Board:
        return self.story.board

    def act(self, fuse: int | None, jobs: list[Job]) -> None:
        """Carry jobs out; if it dies of that, the next one takes over."""
        self.fuse = fuse
        try:
            self.take(jobs)
        except Died:
            self.restart()
        self.fuse = None

    def restart(self, fuse: int | None = None) -> None:
        """A new one takes over; if that dies too, then another, to which nothing happens."""
        self.fuse = fuse
        try:
            self.take_over()
        except Died:
            self.restart()
        self.fuse = None

    def take_over(self) -> None:
        self.story.now += 1
        rebuilt = self.server.read(
            self.story.settings, self.story.now, self.found(), frozenset(self.answers)
        )
        core = self.story.core = Core(self.story.settings, rebuilt)
        self.take(core.begin(self.story.now))
        for need in rebuilt.needs:
            read = DescriptionRead(need.channel, self.posts.get(need.channel))
            self.take(self.story.feed(read))
        since = float(self.server.metadata[TASKS].get("watermark", 0)) - 1
        for line in [line for line in self.lines if line.at >= since]:
            self.take(self.story.feed(replace(line, live=False)))
        self.look_now()
        self.repeat()

    def found(self) -> WorkerList:
        return WorkerList(tuple(self.story.alive.values()), complete=True)

    def take(self, jobs: list[Job]) -> None:
        """One job after the other; what an effect feeds back waits for its turn."""
        self.check_order(jobs)
        idle = not self.under_way
        self.under_way += [effect for job in jobs for effect in job.effects]
        while idle and self.under_way:
            if self.fuse == 0:
                self.under_way.clear()
                raise Died
            self.fuse = None if self.fuse is None else self.fuse - 1
            self.carry_out(self.under_way[0])
            self.under_way.popleft()

    def carry_out(self, effect: Effect) -> None:
        if isinstance(effect, SetMetadata | SetTopic):
            self.before.append((self.story.now, self.server.copy_of(effect.channel)))
        self.server.take([effect], self.story.now)
        match effect:
            case Publish(event) if event.kind == "status":
                self.check_transition(str(event.task), dict(event.fields))
            case Answer(cause=cause):
                self.answers[cause] += 1
            case PostDescription(channel, text):
                self.posts[channel] = text
            case Confirm(_, msgid) | Refuse(_, msgid):
                self.confirmed(msgid)
            case Spawn(channel, env):
                self.start(channel, env.task_id, env.attempt)
            case Kill(ref):
                self.dying.add((ref.task, ref.attempt))
            case Direct():
                self.direct(effect)
            case Handled():
                self.take(self.story.feed(effect))
            case _:
                pass

    # What must hold

    def check_transition(self, channel: str, event: dict[str, object]) -> None:
        before, after = Status(str(event["prev_status"])), Status(str(event["status"]))
        assert any((start, to) == (before, after) for start, to, _ in ROWS)
        assert self.states.get(channel, "pending") == before
        if before is after is Status.IN_PROGRESS:
            assert event["rev"] == self.revs[channel]
        else:
            assert event["rev"] == self.revs[channel] + 1
            self.revs[channel] += 1
        self.states[channel] = str(after)
        if before is Status.READY and after is Status.IN_PROGRESS:
            self.check_caps(channel)

    def check_caps(self, channel: str) -> None:
        owner = self.owner(channel)
        others = [c for c, s in self.states.items() if s == Status.IN_PROGRESS and c != channel]
        assert len(others) < TOTAL
        assert len([c for c in others if self.owner(c) == owner]) < EACH

    def owner(self, channel: str) -> str | None:
        task = self.board.get(channel)
        return task.requester if task is not None else None

    def check_order(self, jobs: list[Job]) -> None:
        """Who starts stood before everybody who could have started."""
        started = [task for job in jobs if (task := self.started_by(job)) is not None]
        for index, task in enumerate(started):
            later = started[index:]
            for other in self.board.queue():
                assert place(other) > place(task) or not self.could_start(other, later)

    def started_by(self, job: Job) -> Task | None:
        for effect in job.effects:
            if isinstance(effect, Publish) and effect.event.kind == "task_assigned":
                return self.board.get(str(effect.event.task))
        return None

    def could_start(self, task: Task, later: list[Task]) -> bool:
        live = self.board.live(task.channel)
        active = [t for t in self.board.active() if t not in later]
        mine = [t for t in active if t.requester == task.requester]
        waits = live.retry_at > self.story.now or not self.board.proven_gone(task)
        return len(mine) < EACH and not waits

    # The engine and its workers

    def start(self, channel: str, number: int, attempt: int) -> None:
        ref = WorkerRef(number, attempt, f"job-{number}-{attempt}")
        if self.is_alive((number, attempt)):
            self.take(self.story.feed(Spawned(channel, ref)))
            return
        alive = [key for key in self.story.alive if key[0] == number and self.is_alive(key)]
        assert alive == [], "two attempts of one task at a time"
        assert (number, attempt) not in self.story.alive, "an attempt started twice"
        if self.engine_refuses:
            failed = SpawnFailed(channel, attempt, "no room", transient=True)
            self.take(self.story.feed(failed))
            return
        self.story.alive[number, attempt] = WorkerSeen(ref, WorkerState.RUNNING)
        self.take(self.story.feed(Spawned(channel, ref)))

    def is_alive(self, key: tuple[int, int]) -> bool:
        row = self.story.alive.get(key)
        return row is not None and row.state is not WorkerState.ENDED

    def end(self, key: tuple[int, int], cause: str) -> None:
        if self.is_alive(key):
            row = self.story.alive[key]
            self.story.alive[key] = replace(row, state=WorkerState.ENDED, cause=cause)
            self.waiting.pop(key, None)

    def direct(self, effect: Direct) -> None:
        key = effect.task, effect.attempt
        if not self.is_alive(key):
            return
        if isinstance(effect.directive, Resume):
            self.resumed.add(effect.cause)
        if isinstance(effect.directive, Leave):
            self.dying.add(key)

    def repeat(self) -> None:
        for waiting in list(self.waiting.values()):
            self.tell(waiting)

    def tell(self, waiting: Waiting) -> None:
        task = self.board.by_number(waiting.number)
        worker = task.run.worker if task is not None else None
        if worker is None or not self.is_alive((waiting.number, waiting.attempt)):
            return
        line = self.report_line(waiting, worker)
        self.lines.append(line)
        self.told = line.msgid, waiting
        self.take(self.story.feed(line))

    def report_line(self, waiting: Waiting, worker: str) -> Spoken:
        tag = f"{waiting.number}.{waiting.attempt}.{waiting.seq}"
        return self.story.line(
            waiting.text,
            f"#task-{waiting.number}",
            nick=worker,
            tags={"+ergonaut/control": tag},
        )

    def confirmed(self, msgid: str) -> None:
        told, waiting = self.told
        if told == msgid:
            self.waiting.pop((waiting.number, waiting.attempt), None)

    # What happens

    @rule(nick=st.sampled_from(PEOPLE), fuse=fuses)
    @precondition(lambda self: self.board.next_number <= MOST_TASKS)
    def make(self, nick: str, fuse: int | None) -> None:
        self.say("!new A task", TASKS, nick, fuse)
        channel = f"#task-{self.board.next_number - 1}"
        self.say("!ready", channel, nick, None)

    @rule(nick=st.sampled_from(PEOPLE), text=st.sampled_from(WAITS))
    @precondition(lambda self: self.board.next_number <= MOST_TASKS)
    def come_far(self, nick: str, text: str) -> None:
        """A task whose worker waits for somebody, if there was a slot for it."""
        self.make(nick, None)
        number = self.board.next_number - 1
        self.arrive(number, None)
        self.report(number, text, None)

    @rule(number=numbers, text=st.sampled_from(COMMANDS), fuse=fuses)
    def speak(self, number: int, text: str, fuse: int | None) -> None:
        channel = f"#task-{number}"
        if self.board.get(channel) is not None:
            self.say(text, channel, self.owner(channel) or "bob", fuse)

    def say(self, text: str, place: str, nick: str, fuse: int | None) -> None:
        self.story.now += 1
        line = self.story.line(text, place, nick=nick)
        self.lines.append(line)
        self.act(fuse, self.story.feed(line))
        known = text.startswith("!") and text != "!nonsense"
        assert self.answers[line.msgid] == (1 if known else 0), text

    @rule(number=numbers, text=st.sampled_from(REPORTS), fuse=fuses)
    def report(self, number: int, text: str, fuse: int | None) -> None:
        task = self.board.by_number(number)
        if task is None or not self.is_alive((number, task.run.attempt)):
            return
        key = number, task.run.attempt
        if key in self.waiting:
            return
        self.seqs[key] += 1
        waiting = self.waiting[key] = Waiting(*key, self.seqs[key], text)
        self.fuse = fuse
        try:
            self.tell(waiting)
        except Died:
            self.restart()
        self.fuse = None
        assert key not in self.waiting or not self.is_alive(key)

    @rule(number=numbers, fuse=fuses)
    def arrive(self, number: int, fuse: int | None) -> None:
        task = self.board.by_number(number)
        if task is not None and self.is_alive((number, task.run.attempt)):
            self.act(fuse, self.story.join(str(task.run.worker), task.channel))

    @rule(number=numbers, cause=st.sampled_from(CAUSES), fuse=fuses)
    def die(self, number: int, cause: str, fuse: int | None) -> None:
        task = self.board.by_number(number)
        if task is not None and self.is_alive((number, task.run.attempt)):
            self.end((number, task.run.attempt), cause)
            self.act(fuse, self.story.leave(str(task.run.worker), task.channel))
            self.look(5.0, fuse)

    @rule(seconds=st.sampled_from([1.0, 61.0, 1000.0]), fuse=fuses)
    def look(self, seconds: float, fuse: int | None) -> None:
        for key in self.dying:
            self.end(key, "killed")
        self.dying.clear()
        self.story.now += seconds
        self.fuse = fuse
        try:
            self.look_now()
        except Died:
            self.restart()
        self.fuse = None

    def look_now(self) -> None:
        self.take(self.story.feed(WorkersListed(self.found(), self.story.now)))
        self.take(self.story.feed(Tick()))

    @rule(refuses=st.booleans())
    def engine_changes_its_mind(self, refuses: bool) -> None:
        self.engine_refuses = refuses

    @rule(number=numbers, text=st.sampled_from(COMMANDS), fuse=fuses, lost=st.integers(1, 4))
    def the_server_dies(self, number: int, text: str, fuse: int | None, lost: int) -> None:
        """With writes that it has acknowledged a moment ago; and the controller starts anew."""
        self.speak(number, text, fuse)
        for at, held in reversed(self.before[-lost:]):
            if at >= self.story.now - 1:
                self.server.put_back(held)
        self.restart()

    @rule(fuse=fuses)
    def die_at_rest(self, fuse: int | None) -> None:
        self.restart(fuse)

    @invariant()
    def at_most_one_attempt_lives(self) -> None:
        alive = Counter(number for number, _ in filter(self.is_alive, self.story.alive))
        assert all(count <= 1 for count in alive.values())

    @invariant()
    def the_log_is_the_board(self) -> None:
        for task in self.board:
            assert self.states.get(task.channel, "pending") == task.status
            assert self.revs[task.channel] == task.times.rev

    @invariant()
    def the_server_holds_the_board(self) -> None:
        rebuilt = self.server.read(self.story.settings, self.story.now, self.found())
        assert list(rebuilt.board) == list(self.board)
        assert (rebuilt.repairs, rebuilt.problems, rebuilt.needs) == ((), (), ())

    @invariant()
    def nothing_is_said_twice(self) -> None:
        assert all(count == 1 for count in self.answers.values())
        created = Counter(r.event.task for r in self.server.records if r.event.kind == CREATED)
        assert all(count == 1 for count in created.values())

    @invariant()
    def a_task_in_progress_has_a_worker(self) -> None:
        for task in self.board.active():
            assert task.run.exited is None

    @invariant()
    def who_was_woken_knows_it(self) -> None:
        for record in self.server.records:
            event, fields = record.event, record.event.fields
            task = self.board.get(str(event.task))
            newest = task is not None and fields.get("rev") == task.times.rev
            if task is None or not newest or not self.is_alive((task.number, task.run.attempt)):
                continue
            waited = fields.get("prev_status") in (Status.BLOCKED, Status.FOR_REVIEW)
            woken = waited and fields.get("status") == Status.IN_PROGRESS
            assert not woken or fields.get("seq") or event.cause in self.resumed

    @invariant()
    def every_transition_is_told_whole(self) -> None:
        events = [r.event for r in self.server.records]
        moves = [e.fields for e in events if e.kind == "status"]
        wanted = Counter(second_kind(m["prev_status"], m["status"]) for m in moves)
        for kind in ("task_ready", "task_completed", "task_archived"):
            assert sum(event.kind == kind for event in events) == wanted[kind]


def place(task: Task) -> tuple[float, int, int, int]:
    """Its place in the queue (design 10)."""
    front = float("inf") if task.run.front is None else float(task.run.front)
    return front, -task.priority, task.times.entered.get(Status.READY, 0), task.number


RestartMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
test_any_number_of_deaths_changes_nothing = RestartMachine.TestCase
