"""The task as everybody reads it (design 4). Pure. Only the controller may move a Status.

Its METADATA form is in `shared.task_metadata`, its long text in `shared.description`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from shared.channels import parse_task_channel
from shared.description import cut_bytes
from shared.ircv3.split import harmless, strip_formatting

TOPIC_BYTES = 390
TITLE_CHARS = 100


class Status(StrEnum):
    """The states of design 5."""

    PENDING = "pending"
    """A draft: the requester may still change it."""
    READY = "ready"
    """Waiting for a worker."""
    IN_PROGRESS = "in_progress"
    """A worker or a person has it."""
    BLOCKED = "blocked"
    """Waits for a person; `reason` says for what."""
    FOR_REVIEW = "for_review"
    """Handed in."""
    DONE = "done"
    ARCHIVED = "archived"


class Why(StrEnum):
    """The words with which the `reason` of a blocked task begins."""

    QUESTION = "question"
    PERMISSION = "permission"
    STOPPED = "stopped"
    BUDGET = "budget"
    TURNS = "turns"
    DEADLINE = "deadline"
    LOOP = "loop"
    TOOL_TIME = "tool-time"
    KILLED = "killed"
    VANISHED = "vanished"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Reason:
    """Wire form: `<why>` or `<why>: <detail>`."""

    why: Why
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.why}: {self.detail}" if self.detail else str(self.why)


def parse_reason(text: str) -> Reason | None:
    """Read `<why>[: detail]`; None if the first word is none of ours."""
    word, _, detail = text.partition(":")
    try:
        return Reason(Why(word.strip()), detail.strip())
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Run:
    """METADATA `run`: who works on it and how often it was started."""

    attempt: int = 0
    """Counts up with each spawn; 0 = never started."""
    worker: str | None = None
    """Account of the worker of this attempt."""
    job: str | None = None
    """What the spawner calls it: a Job's name, or `local-<pid>`."""
    spawned: str | None = None
    """`agent` or `human`; None before the first start."""
    resumed: int = 0
    oom: int = 0
    front: int | None = None
    """Unix seconds since when it stands at the front of the queue; None = its place by age."""
    joined: int | None = None
    """Unix seconds when the worker of this attempt was first seen in its channel; None = never."""
    exited: str | None = None
    """Why it left, in a word of `worker_exited.reason`; None = it has not."""


@dataclass(frozen=True, slots=True)
class Times:
    """METADATA `times`: unix seconds of the last entry into each state, and the revision."""

    rev: int = 0
    """Counts up with each transition; the highest wins wherever it stands."""
    entered: Mapping[Status, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """METADATA `usage`: totals over all attempts."""

    cost_usd: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    turns: int = 0

    def at_least(self, other: Usage) -> Usage:
        """Field by field the larger: repeated or late reports of totals do no harm."""
        return Usage(
            max(self.cost_usd, other.cost_usd),
            max(self.tokens_in, other.tokens_in),
            max(self.tokens_out, other.tokens_out),
            max(self.tokens_cached, other.tokens_cached),
            max(self.turns, other.turns),
        )


@dataclass(frozen=True, slots=True)
class Task:
    """All facts of design 4. `channel` is its id."""

    channel: str
    title: str = ""
    status: Status = Status.PENDING
    requester: str | None = None
    assignee: str | None = None
    created: int = 0
    """Unix seconds."""
    reason: str | None = None
    """Of a blocked task: the text form of `Reason`."""
    pr: str | None = None
    """`<url> open|merged|closed`."""
    blocked_by: tuple[str, ...] = ()
    repo: str | None = None
    repo_url: str | None = None
    default_branch: str | None = None
    model: str | None = None
    """None = the operator's WORKER_MODEL."""
    budget: float | None = None
    """US dollars; None = BUDGET_USD."""
    priority: int = 0
    run: Run = field(default_factory=Run)
    times: Times = field(default_factory=Times)
    usage: Usage = field(default_factory=Usage)
    description: str = ""

    @property
    def number(self) -> int:
        parsed = parse_task_channel(self.channel)
        if parsed is None:
            raise ValueError(f"{self.channel} is not a task channel")
        return parsed.number

    @property
    def topic(self) -> str:
        return format_topic(self.status, self.title)


def title_from(description: str) -> str:
    """First line of a description that says something, at most 100 characters."""
    for line in description.splitlines():
        words = " ".join(harmless(strip_formatting(line)).split())
        if any(map(_is_seen, words)):
            return words if len(words) <= TITLE_CHARS else words[: TITLE_CHARS - 1].rstrip() + "…"
    return ""


def _is_seen(character: str) -> bool:
    return unicodedata.category(character)[0] not in "CZ"


def format_topic(status: Status, title: str) -> str:
    """`[status] title`, at most 390 bytes of UTF-8 (ergo cuts longer topics in silence)."""
    return cut_bytes(f"[{status}] {title}", TOPIC_BYTES)


def title_of_topic(topic: str) -> str:
    """The title in a topic. Its status is never read back: the topic never wins."""
    if topic.startswith("["):
        _, bracket, title = topic.partition("] ")
        if bracket:
            return title
    return topic
