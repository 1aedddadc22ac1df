"""What a command's handler is given, and what it gives back. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from typing import TypeAlias

from controller.effects import Effect, Spoken
from controller.lifecycle import Moved, Refusal
from controller.transition import Told, move
from controller.world import World
from shared.channels import is_channel
from shared.description import cut_bytes
from shared.firehose import Record
from shared.ircv3.casemap import fold
from shared.task import Task


class Role(IntEnum):
    """What an account may; each includes those before it (design 3)."""

    ANYONE = 0
    MEMBER = 1
    """Logged in."""
    ASSIGNEE = 2
    REQUESTER = 3
    MAINTAINER = 4


class Scope(Enum):
    """Where a command makes sense; the value completes "say it in ..."."""

    TASK = "its task's channel"
    TASK_OR_NUMBER = "its task's channel, or with its number"
    CONTROL = "#tasks, or to me alone"
    ANYWHERE = "any channel"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command comes to."""

    lines: tuple[str, ...]
    """The answer; a long one is paged."""
    effects: tuple[Effect, ...] = ()
    """Before the answer."""
    refused: bool = False
    """A person must notice: said as `nick: ...`."""
    if_unconfirmed: tuple[str, ...] | None = None
    lane: str | None = None
    """None = the task's channel, else the place where it was asked."""


def refused(text: str) -> Outcome:
    return Outcome((text,), refused=True)


@dataclass(frozen=True, slots=True)
class Request:
    """One command of one person, with everything that a handler may look at."""

    world: World
    command: Command
    commands: Mapping[str, Command]
    args: str
    line: Spoken
    """The whole of it; `msgid` and `at` are those of its first line."""
    now: float
    task: Task | None = None
    role: Role = Role.ANYONE
    pieces: int = 1
    """Lines that were joined."""
    done: tuple[Record, ...] = ()
    """What it is known to have done before a restart; () = new."""

    @property
    def words(self) -> list[str]:
        return self.args.split()

    @property
    def account(self) -> str:
        return self.line.account or ""

    @property
    def in_dm(self) -> bool:
        return not is_channel(self.line.place)

    @property
    def told(self) -> Told:
        """What the events of this command carry."""
        at = self.line.account if self.in_dm else self.line.place
        return Told(by=self.account, cause=self.line.msgid, at=at, resume=self.line.msgid)

    def the_task(self) -> Task:
        """Of a command whose scope has made sure of it."""
        if self.task is None:
            raise LookupError(f"!{self.command.name} has no task")
        return self.task

    def carry(
        self, moved: Moved | Refusal, line: Callable[[Task], str], resume: str = ""
    ) -> Outcome:
        """A transition and its answer, or why it is refused."""
        task = self.the_task()
        if isinstance(moved, Refusal):
            return refused(f"!{self.command.name} does nothing to {task.channel}: {moved}")
        told = replace(self.told, resume=resume or self.line.msgid)
        effects = move(self.world, moved, told, self.now)
        return Outcome((line(moved.task),), effects)


Handler: TypeAlias = Callable[[Request], Outcome]


@dataclass(frozen=True, slots=True)
class Command:
    """One row of the table; help, documentation and example tests come from it."""

    name: str
    scope: Scope
    role: Role
    arity: tuple[int, int | None]
    """Fewest and most words after the command; None = any number."""
    usage: str
    example: str
    help: str
    handler: Handler
    role_with_args: Role | None = None
    """Needed where there are words after it; None = `role`."""
    finish: Handler | None = None
    """For a command whose events are on #firehose and whose answer is not: None = says how the
    task stands."""
    multiline: bool = field(default=False)
    """Its text may be cut by clients: it waits for the rest (design 16)."""


def short(text: str, budget_bytes: int = 120) -> str:
    """One line of a longer text."""
    return cut_bytes(" ".join(text.split()), budget_bytes)


def role_of(world: World, account: str | None, task: Task | None) -> Role:
    """By account, never by nick."""
    if account is None:
        return Role.ANYONE
    name = fold(account)
    if name in {fold(m) for m in world.settings.maintainers}:
        return Role.MAINTAINER
    if task is not None and task.requester and fold(task.requester) == name:
        return Role.REQUESTER
    if task is not None and task.assignee and fold(task.assignee) == name:
        return Role.ASSIGNEE
    return Role.MEMBER
