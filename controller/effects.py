"""What happens to the controller (Input) and what it does about it (Effect). Pure values.

`Core.feed(input, now) -> list[Job]` decides; `bot.py` turns the world into inputs and carries the
jobs out. A job's effects run one after the other, each only after the last is acknowledged; jobs of
one lane keep their order, lanes run side by side. A job that dies with its connection is not
continued: the next connection rebuilds everything and catches up (design 4, 6).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from controller.spawner import WorkerList, WorkerRef
from shared.directives import ToWorker
from shared.firehose import Event
from shared.worker_env import WorkerEnv

# Inputs.


@dataclass(frozen=True, slots=True)
class Spoken:
    """A PRIVMSG of somebody else: one line, or a multiline batch joined by line feeds."""

    place: str
    """The channel; for a DM the sender's nick."""
    nick: str
    account: str | None
    text: str
    msgid: str
    at: float
    """Server time, unix seconds."""
    live: bool = True
    """False = read back from history."""
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Telemetry:
    """`+ergonaut/tool` of a TAGMSG: what a worker's tools do now."""

    account: str
    tag: str
    """`<N>.<attempt>.<seq>`; the seq does not count here."""
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Joined:
    """Somebody is in a channel now: a JOIN, or a name of 353 / WHO after our own."""

    channel: str
    nick: str
    account: str | None
    live: bool = True
    """False = was there before us."""


@dataclass(frozen=True, slots=True)
class Left:
    """PART, KICK or QUIT; a QUIT is one input per channel."""

    channel: str
    nick: str


@dataclass(frozen=True, slots=True)
class WorkersListed:
    """A sweep's view: it proves nothing about what came after `asked_at` (unix seconds)."""

    found: WorkerList
    asked_at: float
    touched: frozenset[str] = frozenset()
    """Channels whose topic or modes somebody else has changed since the last one."""
    log_lost: bool = False
    """Events of ours were echoed and are not in the history."""


@dataclass(frozen=True, slots=True)
class Spawned:
    """The engine has started (or adopted) a worker."""

    channel: str
    ref: WorkerRef


@dataclass(frozen=True, slots=True)
class SpawnFailed:
    """The engine refused a start."""

    channel: str
    attempt: int
    message: str
    transient: bool


@dataclass(frozen=True, slots=True)
class AccountTaken:
    """MintAccount found that a name that we never listed exists: it is a person's. The rest of
    that job is dropped; the core picks another name for the same attempt."""

    channel: str
    attempt: int
    account: str


@dataclass(frozen=True, slots=True)
class DescriptionRead:
    """The answer to a `rebuild.Need`: None where no post of the description was found."""

    channel: str
    text: str | None


@dataclass(frozen=True, slots=True)
class Unconfirmed:
    """A worker has not confirmed a directive within 10 s; it goes on being repeated."""

    channel: str
    attempt: int
    directive: ToWorker


@dataclass(frozen=True, slots=True)
class Tick:
    """A sweep is due, or `Core.due_at` has come."""


@dataclass(frozen=True, slots=True)
class Handled:
    """The line of this msgid is dealt with: the watermark may pass it, to `at` (server time).

    An effect, the last of its job; the runner feeds it back as an input.
    """

    msgid: str
    at: float


Input: TypeAlias = (
    Spoken | Telemetry | Joined | Left | WorkersListed | Spawned | SpawnFailed | AccountTaken
    | DescriptionRead | Unconfirmed | Handled | Tick
)  # fmt: skip


# Effects.


@dataclass(frozen=True, slots=True)
class Publish:
    """Log first: an event on #firehose, its echo awaited."""

    event: Event


@dataclass(frozen=True, slots=True)
class MakeChannel:
    """JOIN, modes (`anew`: also where it is registered), register. Idempotent."""

    channel: str
    moderated: bool = False
    anew: bool = False


@dataclass(frozen=True, slots=True)
class SetMetadata:
    """Keys of one channel; None deletes. Paced; a newer value replaces a queued one."""

    channel: str
    values: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class SetTopic:
    """A topic that is already right is not written again."""

    channel: str
    topic: str


@dataclass(frozen=True, slots=True)
class SetModerated:
    """`+M` while a task is blocked: who is logged in may speak."""

    channel: str
    on: bool


@dataclass(frozen=True, slots=True)
class PostDescription:
    """The whole description in the task's channel, tagged with its checksum (design 4)."""

    channel: str
    text: str


@dataclass(frozen=True, slots=True)
class Invite:
    """INVITE only; the words go with a Say."""

    nick: str
    channel: str


@dataclass(frozen=True, slots=True)
class Say:
    """Lines to a channel or nick; each is cut to LINE_MAX_BYTES by the edge."""

    target: str
    lines: tuple[str, ...]
    notice: bool = False
    """For routine answers in a channel; PRIVMSG for what a person must notice (design 16)."""
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """The last effect of a command: its last line carries `+draft/reply=<msgid>`."""

    target: str
    lines: tuple[str, ...]
    cause: str
    """msgid of the command."""
    notice: bool = True
    if_unconfirmed: tuple[str, ...] | None = None
    """Said instead where a Direct of this job was not confirmed in 10 s."""


@dataclass(frozen=True, slots=True)
class Direct:
    """A directive to the worker of this attempt; awaits its confirmation for 10 s at most."""

    channel: str
    task: int
    attempt: int
    account: str
    directive: ToWorker
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class Confirm:
    """TAGMSG to a worker: its directive of this msgid was taken."""

    nick: str
    msgid: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """NOTICE to a worker with `+draft/reply`: its directive cannot be carried out, and why."""

    nick: str
    msgid: str
    why: str


@dataclass(frozen=True, slots=True)
class MintAccount:
    """Make the worker's account ready for this attempt: password set, old sessions logged out."""

    account: str
    task: int
    attempt: int
    listed: bool
    """True = ours already (NS PASSWD); False = NS SAREGISTER, or AccountTaken if it exists."""


@dataclass(frozen=True, slots=True)
class Spawn:
    """Start a worker; the edge adds the secrets, and feeds Spawned or SpawnFailed back.

    `env.workspace` and `env.state` are empty: the engine knows its folders.
    """

    channel: str
    env: WorkerEnv


@dataclass(frozen=True, slots=True)
class Kill:
    """End a worker through the engine. `ref.job` is "" where only N and attempt are known."""

    ref: WorkerRef


Effect: TypeAlias = (
    Publish | MakeChannel | SetMetadata | SetTopic | SetModerated | PostDescription | Invite | Say
    | Answer | Direct | Confirm | Refuse | MintAccount | Spawn | Kill | Handled
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Job:
    """Effects that belong together, in order. Jobs of one lane run one after the other."""

    lane: str
    effects: tuple[Effect, ...]
