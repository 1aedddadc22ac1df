"""From what the server holds to a board (design 4). Pure.

The order of truth: the highest `rev` wins, wherever it stands; the topic never wins.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from controller.board import Board
from controller.commands.draft import EVENT_CHARS
from controller.damage import forget_lost, is_damaged, mend
from controller.effects import Job, SetMetadata
from controller.limits import CoreSettings
from controller.nicks import pool_from_metadata
from controller.redo import Redone, event_of_description, redo
from controller.repairs import OnServer, drift, untold
from controller.spawner import WorkerList
from controller.transition import question_of
from shared import description
from shared.channels import AGENTS, FIREHOSE, TASKS, parse_task_channel
from shared.directives import DESCRIPTION_TAG
from shared.firehose import Event, Record
from shared.ircv3.casemap import Folded, fold
from shared.ircv3.message import Message
from shared.task import Status, Task, Why, parse_reason, title_from, title_of_topic
from shared.task_metadata import Problems, from_metadata

OVERLAP_SECONDS = 60.0
"""#firehose is read so far back behind the watermark: the last writes may be lost."""
_CLOCK_SKEW_SECONDS = 3600
_NUMBER_BOUND = 1e12


@dataclass(frozen=True, slots=True)
class Listed:
    """A row of LIST, and how the channel is set up."""

    channel: str
    topic: str
    modes: frozenset[str] | None = None
    """Letters that are set; None = nobody asked, as it was archived long ago."""
    registered: bool = True


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
    """A description that METADATA does not hold whole.

    Read the channel's history, and where `cause` is known the message of that msgid at `at`;
    `choose_description` picks, and the core gets DescriptionRead.
    """

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


def read_back_to(metadata: Mapping[str, Mapping[str, str]], now: float) -> float:
    """Server time from which on #firehose is needed; 0.0 = from the beginning.

    The tail is enough, unless somebody has damaged what a task holds: then its whole life is.
    """
    if any(is_damaged(channel, values) for channel, values in metadata.items()):
        return 0.0
    return max(0.0, watermark(metadata[TASKS], now) - OVERLAP_SECONDS)


def watermark(tasks_metadata: Mapping[str, str], now: float) -> float:
    """Server time up to which every line is dealt with; 0.0 = unknown, as is one to come."""
    stored = _number(tasks_metadata.get("watermark"))
    return stored if stored <= now + _CLOCK_SKEW_SECONDS else 0.0


def rebuild(snapshot: Snapshot, settings: CoreSettings, now: float) -> Rebuilt:
    """The board as it must be, and what differs from it on the server."""
    board, found = Board(), Problems()
    stored = {fold(channel): values for channel, values in snapshot.metadata.items()}
    tasks_values = stored.get(fold(TASKS), {})
    board.watermark = watermark(tasks_values, now)
    board.snapshot_at = min(now, _number(tasks_values.get("snapshot")))
    next_stored = max(1, int(_number(tasks_values.get("next_task"))))
    board.next_number = next_stored
    board.pool = pool_from_metadata(stored.get(fold(AGENTS), {}))
    on_server = _read_tasks(board, snapshot, stored, found)
    lost = forget_lost(board, stored)
    redone = redo(board, snapshot.records)
    mend(board, lost, on_server)
    board.listed(snapshot.workers, snapshot.workers_asked_at)
    _drop_gone(board, on_server.keys(), found)
    _revive(board, redone)
    found.extend(f"{task.channel} has no requester" for task in board if not task.requester)
    return Rebuilt(
        board=board,
        causes={cause: tuple(records) for cause, records in redone.causes.items()},
        answered=snapshot.answered,
        needs=tuple(_needs(board, redone, on_server)),
        problems=tuple(found),
        repairs=(
            *untold(board, redone),
            *drift(board, settings, on_server),
            *_number_again(board, next_stored),
        ),
    )


def _number_again(board: Board, stored: int) -> Iterator[Job]:
    """The other witnesses may go (a channel, a workspace): the one that stays is put right."""
    if board.next_number > stored:
        write = SetMetadata(TASKS, {"next_task": str(board.next_number)})
        yield Job(TASKS, (write,))


def _number(text: str | None) -> float:
    """0.0 for what is no number, or an absurd one."""
    try:
        number = float(text or 0)
    except ValueError:
        return 0.0
    return number if 0 <= number < _NUMBER_BOUND else 0.0


def _read_tasks(
    board: Board,
    snapshot: Snapshot,
    stored: Mapping[Folded, Mapping[str, str]],
    found: Problems,
) -> dict[Folded, OnServer]:
    """Put every task channel on the board, as the server has it."""
    on_server = {}
    for row in _of_different_numbers(snapshot.channels, stored, found):
        task, on_server[fold(row.channel)] = _read(row, stored.get(fold(row.channel), {}), found)
        board.put(task)
    return on_server


def _of_different_numbers(
    rows: Iterable[Listed], stored: Mapping[Folded, Mapping[str, str]], found: Problems
) -> list[Listed]:
    """By N. Of two channels with one N the one without METADATA was made by hand, beside ours."""
    ours: dict[int, Listed] = {}
    for row in sorted(rows, key=lambda row: not stored.get(fold(row.channel))):
        channel = parse_task_channel(row.channel)
        if channel is not None and ours.setdefault(channel.number, row) is not row:
            first = ours[channel.number].channel
            found.append(f"{row.channel} has the number of {first} and is left alone")
    return [row for _, row in sorted(ours.items())]


def _read(row: Listed, values: Mapping[str, str], found: Problems) -> tuple[Task, OnServer]:
    """A missing requester is no problem yet: the log may name it."""
    of_task = Problems()
    task = from_metadata(row.channel, values, title_of_topic(row.topic), of_task)
    unreadable = [p for p in of_task if not p.endswith("has no requester")]
    found.extend(f"{row.channel}: {problem}" for problem in unreadable)
    try:
        text = description.from_pieces(values)
    except description.DescriptionDamaged:
        text = ""
    task = replace(task, description=text, title=task.title or title_from(text))
    known = task if "status" in values else None
    whole, readable = bool(text), not unreadable
    return task, OnServer(row.topic, known, whole, readable, row.modes, row.registered)


def _drop_gone(board: Board, listed: Collection[Folded], found: Problems) -> None:
    """A task of the log without its channel: a draft is made again, the rest cannot be."""
    for task in board:
        if fold(task.channel) in listed or task.times.rev == 0:
            continue
        board.drop(task.channel)
        if task.status is not Status.ARCHIVED:
            found.append(f"{task.channel} is on {FIREHOSE}, and its channel is gone")


def _revive(board: Board, redone: Redone) -> None:
    """What follows from the stored facts for the worker of the current attempt."""
    for task in board:
        if task.run.attempt == 0:
            continue
        live = board.live(task.channel)
        live.inbox.highest = redone.seqs.get((fold(task.channel), task.run.attempt), 0)
        live.question = question_of(task)
        reason = parse_reason(task.reason or "")
        if task.status is Status.BLOCKED and reason is not None and reason.why is Why.KILLED:
            live.leaving = "killed"
        elif task.status in _LEAVING:
            live.leaving = _LEAVING[task.status]


_LEAVING: Mapping[Status, str] = {Status.DONE: "completed", Status.ARCHIVED: "archived"}


def _needs(board: Board, redone: Redone, on_server: Mapping[Folded, OnServer]) -> Iterator[Need]:
    """Descriptions that are damaged, missing, or older than the log says."""
    for task in board:
        event = event_of_description(redone, task.channel)
        was = on_server.get(fold(task.channel))
        if was is None or not was.whole or _is_stale(task, event):
            yield Need(task.channel, event.cause if event else None, event.at if event else None)


def _is_stale(task: Task, event: Event | None) -> bool:
    if event is None or event.kind != "task_updated":
        return False
    value = str(event.fields.get("value", ""))
    if event.cut:
        return not task.description.startswith(value.removesuffix("…"))
    return task.description[:EVENT_CHARS] != value


def choose_description(need: Need, posts: Sequence[Message], command: Message | None) -> str | None:
    """The newest post of ours that carries its checksum, else what the command itself says.

    `posts` = messages of the channel, multiline ones joined, in any order. A long text stands in
    several posts of one checksum, in order of time and joined without anything between.
    """
    del need
    tagged = sorted(
        (post for post in posts if DESCRIPTION_TAG in post.tags),
        key=lambda post: post.tags.get("time", ""),
    )
    while tagged:
        crc = tagged[-1].tags[DESCRIPTION_TAG]
        same = [post.text for post in tagged if post.tags[DESCRIPTION_TAG] == crc]
        for first in reversed(range(len(same))):
            text = "".join(same[first:])
            if description.checksum(text) == crc:
                return text
        tagged = [post for post in tagged if post.tags[DESCRIPTION_TAG] != crc]
    return _said(command.text) if command is not None else None


def _said(text: str) -> str | None:
    """The description in `!new ...` or `!desc ...`; an addition alone is none."""
    match = re.fullmatch(r"\s*(?:\S+[:,]\s*)?!?(?:new|desc)\s+(?P<text>.+)", text, re.S | re.I)
    if match is None or match["text"].startswith("+"):
        return None
    return match["text"].strip()
