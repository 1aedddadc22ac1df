"""From what the server holds to a board (design 4). Pure.

The order of truth: the highest `rev` wins, wherever it stands; the topic never wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from controller.board import Board
from controller.effects import Job
from controller.limits import CoreSettings
from controller.spawner import WorkerList
from shared.firehose import Record
from shared.ircv3.message import Message


@dataclass(frozen=True, slots=True)
class Listed:
    """A row of LIST."""

    channel: str
    topic: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that was read; nothing is decided on less."""

    channels: tuple[Listed, ...]
    metadata: Mapping[str, Mapping[str, str]]
    """Channel -> key -> value: of #tasks, #agents and every task channel in `channels`."""
    records: tuple[Record, ...]
    """#firehose from `read_back_to` on, oldest first."""
    workers: WorkerList
    workers_asked_at: float
    answered: frozenset[str] = frozenset()
    """msgids that our own lines in the history answer by `+draft/reply`."""


@dataclass(frozen=True, slots=True)
class Need:
    """A description that METADATA does not hold whole. Read the channel's history, and where
    `cause` is known the message of that msgid at `at`; `choose_description` picks; the core gets
    DescriptionRead."""

    channel: str
    cause: str | None = None
    at: str | None = None
    """Channel, or account of a DM."""


@dataclass(slots=True)
class Rebuilt:
    """Everything that `Core` starts with."""

    board: Board
    causes: dict[str, tuple[Record, ...]] = field(default_factory=dict)
    """msgid of a command or directive -> what it is known to have done."""
    answered: frozenset[str] = frozenset()
    needs: tuple[Need, ...] = ()
    problems: tuple[str, ...] = ()
    """What a person must know, in words for #tasks."""
    repairs: tuple[Job, ...] = ()
    """Drift between the board and the server."""


def read_back_to(tasks_metadata: Mapping[str, str]) -> float:
    """Server time from which on #firehose is needed; 0.0 = from the beginning."""
    raise NotImplementedError


def rebuild(snapshot: Snapshot, settings: CoreSettings, now: float) -> Rebuilt:
    raise NotImplementedError


def choose_description(need: Need, posts: Sequence[Message], command: Message | None) -> str | None:
    """The description of `need`: the newest post of ours that carries its checksum, else what the
    command said. `posts` = messages of the channel (multiline joined), any order by time."""
    raise NotImplementedError
