"""Any interleaving of commands, directives, exits and sweeps keeps the rules of design 5 and 10."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from controller.effects import (
    Answer,
    Handled,
    Job,
    Kill,
    Publish,
    Spawn,
    Spawned,
    SpawnFailed,
)
from controller.lifecycle import ROWS
from controller.spawner import WorkerRef, WorkerSeen, WorkerState
from shared.task import Status
from tests.support.core_story import Story, effects

TOTAL, EACH, TASKS = 2, 1, 5
PEOPLE = ("alice", "bob", "mia")
WHO = st.sampled_from(["its requester"] * 4 + ["bob"])
COMMANDS = (
    "!ready", "!unready", "!desc New text", "!complete", "!reopen", "!reopen note", "!stop",
    "!kill", "!archive", "!status", "a plain line", "!tasks all",
)  # fmt: skip
REPORTS = (
    "[status] in_progress", "[status] for_review", "[status] blocked question: Why?",
    "[status] blocked turns", "[status] done", "[meta] cost_usd=0.5", "[bye] idle -", "[dance]",
)  # fmt: skip
CAUSES = ("", "evicted", "error", "oom", "completed")
numbers = st.integers(1, TASKS)


class ControllerMachine(RuleBasedStateMachine):
    """A runner that does at once what it is told, and an engine that keeps what it starts."""

    def __init__(self) -> None:
        super().__init__()
        self.story = Story(max_active_total=TOTAL, max_active_per_requester=EACH)
        self.revs: Counter[str] = Counter()
        self.states: dict[str, str] = {}
        self.seq = 0
        self.engine_refuses = False
        self.dying: set[tuple[int, int]] = set()
        self.take(self.story.sweep())

    def take(self, jobs: list[Job]) -> None:
        for effect in effects(jobs):
            self.carry_out(effect)

    def carry_out(self, effect: object) -> None:
        match effect:
            case Publish(event) if event.kind == "status":
                self.check_transition(str(event.task), dict(event.fields))
            case Spawn(channel, env):
                self.start(channel, env.task_id, env.attempt)
            case Kill(ref):
                self.dying.add((ref.task, ref.attempt))
            case Handled():
                self.take(self.story.feed(effect))
            case _:
                pass

    def check_transition(self, channel: str, event: dict[str, object]) -> None:
        before = Status(str(event["prev_status"]))
        after = Status(str(event["status"]))
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
        """Caps gate starts; a live worker that goes on may stand above them."""
        owner = self.owner(channel)
        others = [c for c, s in self.states.items() if s == Status.IN_PROGRESS and c != channel]
        assert len(others) < TOTAL
        assert len([c for c in others if self.owner(c) == owner]) < EACH

    def owner(self, channel: str) -> str | None:
        task = self.story.board.get(channel)
        return task.requester if task is not None else None

    def start(self, channel: str, number: int, attempt: int) -> None:
        alive = [key for key in self.story.alive if key[0] == number and self.is_alive(key)]
        assert alive == [], "two attempts of one task at a time"
        if self.engine_refuses:
            failed = SpawnFailed(channel, attempt, "no room", transient=True)
            self.take(self.story.feed(failed))
            return
        ref = WorkerRef(number, attempt, f"job-{number}-{attempt}")
        self.story.alive[number, attempt] = WorkerSeen(ref, WorkerState.RUNNING)
        self.take(self.story.feed(Spawned(channel, ref)))

    def is_alive(self, key: tuple[int, int]) -> bool:
        return self.story.alive[key].state is not WorkerState.ENDED

    def end(self, number: int, attempt: int, cause: str) -> None:
        key = number, attempt
        if key in self.story.alive and self.is_alive(key):
            seen = self.story.alive[key]
            self.story.alive[key] = replace(seen, state=WorkerState.ENDED, cause=cause)

    @rule(nick=st.sampled_from(PEOPLE))
    @precondition(lambda self: len(self.story.board) < TASKS)
    def make(self, nick: str) -> None:
        self.take(self.story.say("!new A task", nick=nick))
        self.take(self.story.say("!ready", f"#task-{len(self.story.board)}", nick=nick))

    @rule(number=numbers, text=st.sampled_from(COMMANDS), who=WHO)
    def speak(self, number: int, text: str, who: str) -> None:
        nick = self.owner(f"#task-{number}") or "bob" if who != "bob" else who
        line = self.story.line(text, f"#task-{number}", nick=nick)
        jobs = self.story.feed(line)
        answered = [e for e in effects(jobs) if isinstance(e, Answer) and e.cause == line.msgid]
        assert len(answered) == (1 if text.startswith("!") else 0)
        self.take(jobs)
        assert self.story.feed(line) == []

    @rule(number=numbers)
    def kill_and_reopen(self, number: int) -> None:
        """The worker takes its time to die."""
        for text in ("!kill", "!reopen"):
            self.speak(number, text, "its requester")

    @rule(number=numbers, text=st.sampled_from(REPORTS), ago=st.sampled_from([0, 0, 0, 1]))
    def report(self, number: int, text: str, ago: int) -> None:
        task = self.story.board.by_number(number)
        if task is None or task.run.worker is None:
            return
        self.seq += 1
        attempt = task.run.attempt - ago
        more = {"number": number, "attempt": attempt, "nick": task.run.worker}
        self.take(self.story.report(text, self.seq, **more))

    @rule(number=numbers)
    def arrive(self, number: int) -> None:
        task = self.story.board.by_number(number)
        if task is not None and self.story.alive.get((number, task.run.attempt)):
            self.take(self.story.join(str(task.run.worker), task.channel))

    @rule(number=numbers, cause=st.sampled_from(CAUSES))
    def die(self, number: int, cause: str) -> None:
        task = self.story.board.by_number(number)
        if task is not None:
            self.end(number, task.run.attempt, cause)
            self.take(self.story.leave(str(task.run.worker), task.channel))

    @rule(complete=st.booleans(), seconds=st.sampled_from([1.0, 61.0, 1000.0]))
    def look(self, complete: bool, seconds: float) -> None:
        for number, attempt in self.dying:
            self.end(number, attempt, "killed")
        self.dying.clear()
        self.take(self.story.sweep(complete=complete, after=seconds))

    @rule(refuses=st.booleans())
    def engine_changes_its_mind(self, refuses: bool) -> None:
        self.engine_refuses = refuses

    @invariant()
    def the_board_is_what_was_published(self) -> None:
        for task in self.story.board:
            assert self.states.get(task.channel, "pending") == task.status
            assert self.revs[task.channel] == task.times.rev

    @invariant()
    def at_most_one_attempt_lives(self) -> None:
        alive = Counter(number for number, _ in filter(self.is_alive, self.story.alive))
        assert all(count <= 1 for count in alive.values())


ControllerMachine.TestCase.settings = settings(
    max_examples=80, stateful_step_count=50, deadline=None
)
test_every_interleaving_keeps_the_rules = ControllerMachine.TestCase
