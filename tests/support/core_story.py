"""A core with a clock that stands still: tests tell it what happens and look at its jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from controller.board import Board
from controller.core import Core
from controller.effects import (
    Answer,
    Effect,
    Handled,
    Input,
    Job,
    Joined,
    Left,
    Say,
    Spawn,
    Spawned,
    SpawnFailed,
    Spoken,
    Telemetry,
    Tick,
    WorkersListed,
)
from controller.limits import CoreSettings
from controller.rebuild import Rebuilt
from controller.spawner import WorkerList, WorkerRef, WorkerSeen, WorkerState
from shared.channels import is_channel
from shared.directives import CONTROL_TAG, PROTOCOL, ControlTag, FromWorker, format_from_worker
from shared.task import Task
from shared.worker_env import WorkerEnv

T = TypeVar("T")
NOW = 1_800_000_000

WORKER = WorkerEnv(
    task_id=0,
    task_channel="",
    attempt=0,
    protocol=PROTOCOL,
    workspace="",
    state="",
    worker_model="claude-test",
    irc_host="127.0.0.1",
    irc_port=6667,
    irc_account="",
    controller_account="controller",
    agent_idle_exit_seconds=1800,
    agent_memory_lines=100,
    agent_max_turns=200,
    budget_usd=10.0,
    job_active_deadline_seconds=3600,
    requester="",
)
SETTINGS = CoreSettings(maintainers=("mia",), worker=WORKER, version="1.2.3")


class Story:
    """Inputs by name; every method returns the jobs that came of it."""

    def __init__(self, start: Rebuilt | None = None, **settings: Any) -> None:
        self.settings = replace(SETTINGS, **settings)
        self.core = Core(self.settings, start or Rebuilt(Board()))
        self.now = float(NOW)
        self.alive: dict[tuple[int, int], WorkerSeen] = {}
        self._messages = 0

    @property
    def board(self) -> Board:
        return self.core.world.board

    def task(self, number: int = 1) -> Task:
        task = self.board.by_number(number)
        assert task is not None
        return task

    def feed(self, input: Input) -> list[Job]:
        return self.core.feed(input, self.now)

    def line(self, text: str, place: str = "#tasks", **more: Any) -> Spoken:
        self._messages += 1
        nick = more.pop("nick", "alice")
        line = Spoken(
            place=place if is_channel(place) else nick,
            nick=nick,
            account=nick,
            text=text,
            msgid=f"m{self._messages}",
            at=self.now,
        )
        return replace(line, **more)

    def say(self, text: str, place: str = "#tasks", **more: Any) -> list[Job]:
        return self.feed(self.line(text, place, **more))

    def report(self, directive: FromWorker | str, seq: int, **more: Any) -> list[Job]:
        """A directive of the worker of #task-1, attempt 1."""
        number, attempt = more.pop("number", 1), more.pop("attempt", 1)
        tag = ControlTag(number, attempt, seq)
        text = directive if isinstance(directive, str) else format_from_worker(directive)
        more.setdefault("nick", "HAL-9000")
        more.setdefault("tags", {CONTROL_TAG: str(tag)})
        return self.say(text, more.pop("place", f"#task-{number}"), **more)

    def join(self, nick: str, channel: str = "#task-1", **more: Any) -> list[Job]:
        return self.feed(Joined(channel, nick, more.pop("account", nick), **more))

    def leave(self, nick: str, channel: str = "#task-1") -> list[Job]:
        return self.feed(Left(channel, nick))

    def sweep(self, *, complete: bool = True, after: float = 15.0) -> list[Job]:
        """The workers that are alive, as a list asked for now."""
        self.now += after
        found = WorkerList(tuple(self.alive.values()), complete)
        return [*self.feed(WorkersListed(found, self.now)), *self.feed(Tick())]

    def spawned(self, number: int = 1, attempt: int = 1) -> list[Job]:
        ref = WorkerRef(number, attempt, f"local-{number}{attempt}")
        self.alive[number, attempt] = WorkerSeen(ref, WorkerState.RUNNING)
        return self.feed(Spawned(f"#task-{number}", ref))

    def ended(self, cause: str = "", number: int = 1, attempt: int = 1) -> list[Job]:
        seen = self.alive[number, attempt]
        self.alive[number, attempt] = replace(seen, state=WorkerState.ENDED, cause=cause)
        return self.sweep()

    def spawn_failed(self, *, transient: bool, number: int = 1, attempt: int = 1) -> list[Job]:
        failed = SpawnFailed(f"#task-{number}", attempt, "no room", transient)
        return self.feed(failed)

    def telemetry(self, payload: Mapping[str, Any], account: str = "HAL-9000") -> list[Job]:
        return self.feed(Telemetry(account, "1.1.0", payload))

    def handled(self, jobs: Sequence[Job]) -> None:
        """The runner has carried them out."""
        for effect in effects(jobs):
            if isinstance(effect, Handled):
                self.feed(effect)

    # How far a task has come

    def drafted(self, text: str = "Write a haiku", **more: Any) -> Story:
        self.say(f"!new {text}", **more)
        return self

    def queued(self, **more: Any) -> Story:
        self.drafted(**more).say("!ready", "#task-1", **more)
        return self

    def running(self, **more: Any) -> Story:
        """A worker sits in #task-1 and works."""
        self.sweep()
        self.queued(**more)
        self.spawned()
        self.join("HAL-9000")
        self.sweep()
        return self

    def blocked(self, reason: str = "question: Which season?") -> Story:
        self.running()
        self.report(f"[status] blocked {reason}", 1)
        return self

    def in_review(self) -> Story:
        self.running()
        self.report("[status] for_review", 1)
        return self


def effects(jobs: Sequence[Job]) -> list[Effect]:
    return [effect for job in jobs for effect in job.effects]


def only(jobs: Sequence[Job], kind: type[T]) -> list[T]:
    """The effects of one kind."""
    return [effect for effect in effects(jobs) if isinstance(effect, kind)]


def answers(jobs: Sequence[Job]) -> list[str]:
    return [line for answer in only(jobs, Answer) for line in answer.lines]


def said(jobs: Sequence[Job]) -> list[str]:
    return [line for say in only(jobs, Say) for line in say.lines]


def spawns(jobs: Sequence[Job]) -> list[tuple[int, int]]:
    """(N, attempt) of every start."""
    return [(spawn.env.task_id, spawn.env.attempt) for spawn in only(jobs, Spawn)]
