"""The controller's heart: inputs in, jobs out. No clock, no await, no randomness. Pure.

The same inputs at the same times give the same jobs, so any run can be told again from a record.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from controller.attendance import on_joined, on_left
from controller.commands.answer import Asked, expired, not_understood, respond
from controller.commands.parse import parse_command
from controller.effects import (
    AccountTaken,
    DescriptionRead,
    Handled,
    Input,
    Job,
    Joined,
    Left,
    Say,
    SetMetadata,
    Spawned,
    SpawnFailed,
    Spoken,
    Telemetry,
    Tick,
    Unconfirmed,
    WorkersListed,
)
from controller.escalate import on_unconfirmed
from controller.intake import Intake, Standing, Whole
from controller.limits import CoreSettings
from controller.log_loss import log_turns
from controller.rebuild import Rebuilt
from controller.repairs import describe_again, put_right, snapshots
from controller.reports import on_directive
from controller.starting import on_account_taken, on_spawn_failed, on_spawned
from controller.sweep import start_ready, sweep
from controller.telemetry import on_telemetry
from controller.waking import Heard, on_plain
from controller.world import World
from shared.channels import TASKS
from shared.directives import CONTROL_TAG
from shared.ircv3.casemap import fold
from shared.task import title_from

_PROBLEM_LINES = 8


class Core:
    """One per connection: a new connection rebuilds, and starts with a new one."""

    def __init__(self, settings: CoreSettings, start: Rebuilt) -> None:
        self.world = World(settings, start.board)
        self._start = start
        self._synced = False
        """The missed lines are dealt with: the first list of a sweep comes after them."""
        self._intake = Intake(settings, start.causes, start.answered, start.board.watermark)

    def begin(self, now: float) -> list[Job]:
        """What the rebuild found to repair and to say; before the first `feed`."""
        problems = self._start.problems
        jobs = list(self._start.repairs)
        if problems:
            rest = len(problems) - _PROBLEM_LINES
            lines = (*problems[:_PROBLEM_LINES], *((f"… and {rest} more",) if rest > 0 else ()))
            jobs.append(Job(TASKS, (Say(TASKS, lines, notice=True),)))
        return [*jobs, *snapshots(self.world, now)]

    def feed(self, input: Input, now: float) -> list[Job]:
        """Decide. `now` in unix seconds."""
        jobs = self._decide(input, now)
        self._synced |= isinstance(input, WorkersListed)
        if self._synced and not self.world.log_lost:
            jobs += start_ready(self.world, now)
        for job in jobs:
            for effect in job.effects:
                if isinstance(effect, Handled):
                    self._intake.opened(effect.msgid, effect.at)
        return jobs

    def due_at(self) -> float | None:
        """Unix time at which a Tick is wanted before the next sweep; None = no wish."""
        return self._intake.due_at()

    def _decide(self, input: Input, now: float) -> list[Job]:
        match input:
            case Spoken():
                return self._spoken(input, now)
            case Tick():
                return self._tick(now)
            case Handled():
                self._intake.handled(input)
                return []
            case Joined():
                return on_joined(self.world, input, now)
            case Left():
                return on_left(self.world, input, now)
            case Telemetry():
                return on_telemetry(self.world, input)
            case DescriptionRead():
                return self._description(input)
            case Unconfirmed():
                return on_unconfirmed(self.world, input, now)
            case _:
                return self._engine(input, now)

    def _engine(
        self, input: WorkersListed | Spawned | SpawnFailed | AccountTaken, now: float
    ) -> list[Job]:
        match input:
            case WorkersListed():
                return self._swept(input, now)
            case Spawned():
                return on_spawned(self.world, input, now)
            case SpawnFailed():
                return on_spawn_failed(self.world, input, now)
            case AccountTaken():
                return on_account_taken(self.world, input, now)
            case _:
                assert_never(input)

    def _swept(self, seen: WorkersListed, now: float) -> list[Job]:
        """Nothing is decided on a log that keeps nothing."""
        self.world.board.listed(seen.found, seen.asked_at)
        jobs = log_turns(self.world, lost=seen.log_lost) + put_right(self.world, seen.touched)
        return jobs if seen.log_lost else jobs + sweep(self.world, now)

    # Lines

    def _spoken(self, line: Spoken, now: float) -> list[Job]:
        """Workers speak directives, people speak commands and lines; nobody else is heard."""
        account = line.account
        if account is not None and fold(account) == fold(self.world.settings.account):
            return []
        tagged = CONTROL_TAG in line.tags
        if self.world.board.is_worker(account):
            return on_directive(self.world, line, now) if tagged else self._talk(line)
        if tagged or "bot" in line.tags:
            return []
        wholes = self._intake.admit(line, now)
        return [job for whole in wholes for job in self._whole(whole, now)]

    def _talk(self, line: Spoken) -> list[Job]:
        """A worker's words: the task moves, and what people said before is no answer to them."""
        if self.world.board.get(line.place) is not None:
            live = self.world.board.live(line.place)
            live.last_activity = line.at
            live.unheard.clear()
        return []

    def _whole(self, whole: Whole, now: float) -> list[Job]:
        line = whole.line
        standing = self._intake.standing(line, now)
        done = self._intake.done(line.msgid)
        parsed = parse_command(line, self.world.settings.account)
        if parsed is None:
            return not_understood(line) or on_plain(self.world, Heard(line, standing, done), now)
        asked = Asked(line, parsed, whole.pieces, done)
        match standing:
            case Standing.ANSWERED:
                return []
            case Standing.TOO_OLD:
                return expired(self.world, asked, now)
            case Standing.NEW | Standing.DONE:
                return respond(self.world, asked, now)

    def _tick(self, now: float) -> list[Job]:
        jobs = [job for whole in self._intake.flush(now) for job in self._whole(whole, now)]
        opened = any(isinstance(e, Handled) for job in jobs for e in job.effects)
        bound = self.world.board.oldest_unheard()
        waits = opened or self.world.log_lost
        watermark = None if waits else self._intake.pass_watermark(bound)
        if watermark is not None:
            write = SetMetadata(TASKS, {"watermark": f"{watermark:.3f}"})
            jobs.append(Job(TASKS, (write,)))
        return jobs

    def _description(self, read: DescriptionRead) -> list[Job]:
        """A description that METADATA lacked."""
        task = self.world.board.get(read.channel)
        if task is None:
            return []
        if read.text is None:
            if task.description:
                return []
            text = f"{task.channel} has lost its description; !desc <text> there sets it again"
            return [Job(TASKS, (Say(TASKS, (text,), notice=True),))]
        found = replace(task, description=read.text, title=task.title or title_from(read.text))
        self.world.board.put(found)
        return [describe_again(found)]
