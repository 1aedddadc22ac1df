"""The control lane between controller and worker (design 6), both ways: writer = reader. Pure.

A directive is one plain PRIVMSG with the tag `+ergonaut/control=<N>.<attempt>.<seq>`. Only the code
that sends directives sets the tag, so text that merely looks like one stays text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from shared.task import Status

CONTROL_TAG = "+ergonaut/control"
REPLY_TAG = "+draft/reply"
DESCRIPTION_TAG = "+ergonaut/description"
SAID_TAG = "+ergonaut/said"
TOOL_TAG = "+ergonaut/tool"
PROTOCOL = 1
"""Version of this lane; stands in the worker's environment."""


@dataclass(frozen=True, slots=True)
class ControlTag:
    """Wire form `<N>.<attempt>.<seq>`: which task, which attempt, which message of it."""

    task: int
    attempt: int
    seq: int

    def __str__(self) -> str:
        return f"{self.task}.{self.attempt}.{self.seq}"


def parse_control_tag(value: str) -> ControlTag | None:
    parts = value.split(".")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts):
        return None
    return ControlTag(*(int(part) for part in parts))


# Worker to controller, in the task channel.


@dataclass(frozen=True, slots=True)
class StatusReport:
    """`[status] <state> [reason]`"""

    status: Status
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Meta:
    """`[meta] key=value`"""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class PermissionAsked:
    """`[PERM <id>] <tool>: <preview>`"""

    perm_id: str
    tool: str
    preview: str


@dataclass(frozen=True, slots=True)
class Bye:
    """`[bye] <reason> <msgid>`: leaving; `last_msgid` is the last line it took, "-" if none."""

    reason: str
    last_msgid: str


@dataclass(frozen=True, slots=True)
class UnknownDirective:
    """Tagged as a directive, of a kind that we do not know: counted and answered, not lost."""

    text: str


FromWorker: TypeAlias = StatusReport | Meta | PermissionAsked | Bye | UnknownDirective


# Controller to worker, as a DM.


@dataclass(frozen=True, slots=True)
class Stop:
    """`[stop] <by>`"""

    by: str


@dataclass(frozen=True, slots=True)
class PermissionVerdict:
    """`[perm <id>] allowed|denied|expired <by> [why]`"""

    perm_id: str
    verdict: str
    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Resume:
    """`[resume] <msgid or note>`: go on; the msgid names the line that woke the task."""

    note: str


@dataclass(frozen=True, slots=True)
class Say:
    """`[say] <account> <role> <msgid> <text>`: said elsewhere, counts as that account's line."""

    account: str
    role: str
    msgid: str
    text: str


@dataclass(frozen=True, slots=True)
class Budget:
    """`[budget] <usd>`"""

    usd: float


@dataclass(frozen=True, slots=True)
class Leave:
    """`[leave] <reason>`"""

    reason: str


ToWorker: TypeAlias = Stop | PermissionVerdict | Resume | Say | Budget | Leave | UnknownDirective


def format_from_worker(directive: FromWorker) -> str:
    """The text of a worker's directive, one line; each class gives its form."""
    match directive:
        case StatusReport(status, reason):
            return f"[status] {status} {reason}".rstrip()
        case Meta(key, value):
            return f"[meta] {key}={value}"
        case PermissionAsked(perm_id, tool, preview):
            return f"[PERM {perm_id}] {tool}: {preview}"
        case Bye(reason, last_msgid):
            return f"[bye] {reason} {last_msgid}"
        case UnknownDirective(text):
            return text


def format_to_worker(directive: ToWorker) -> str:
    """The text of a controller's directive, one line; each class gives its form."""
    match directive:
        case Stop(by):
            return f"[stop] {by}"
        case PermissionVerdict(perm_id, verdict, by, why):
            return f"[perm {perm_id}] {verdict} {by} {why}".rstrip()
        case Resume(note):
            return f"[resume] {note}".rstrip()
        case Say(account, role, msgid, text):
            return f"[say] {account} {role} {msgid} {text}"
        case Budget(usd):
            return f"[budget] {usd:g}"
        case Leave(reason):
            return f"[leave] {reason}"
        case UnknownDirective(text):
            return text


def parse_from_worker(text: str) -> FromWorker:
    """Read a tagged line of a worker. Never fails: what does not fit is an UnknownDirective."""
    head, body = _split(text)
    try:
        if head == "status":
            state, _, reason = body.partition(" ")
            return StatusReport(Status(state), reason.strip())
        if head == "meta" and "=" in body:
            key, _, value = body.partition("=")
            return Meta(key.strip(), value.strip())
        if head.startswith("PERM ") and ":" in body:
            tool, _, preview = body.partition(":")
            return PermissionAsked(head[5:].strip(), tool.strip(), preview.strip())
        if head == "bye":
            reason, last_msgid = body.split(" ")
            return Bye(reason, last_msgid)
    except ValueError:
        return UnknownDirective(text)
    return UnknownDirective(text)


def parse_to_worker(text: str) -> ToWorker:
    """Read a tagged DM of the controller. Never fails, likewise."""
    head, body = _split(text)
    try:
        if head.startswith("perm "):
            verdict, by, *why = body.split(" ", 2)
            return PermissionVerdict(head[5:].strip(), verdict, by, "".join(why))
        if head == "say":
            return Say(*body.split(" ", 3))
        if head == "budget":
            return Budget(float(body))
    except (ValueError, TypeError):
        return UnknownDirective(text)
    if head in _ONE_WORD:
        return _ONE_WORD[head](body)
    return UnknownDirective(text)


_ONE_WORD: Mapping[str, Callable[[str], ToWorker]] = {
    "stop": Stop,
    "resume": Resume,
    "leave": Leave,
}


def _split(text: str) -> tuple[str, str]:
    """`[head] body` -> (head, body); ("", text) without a bracket at the start."""
    if not text.startswith("[") or "]" not in text:
        return "", text
    head, _, body = text[1:].partition("]")
    return head, body.strip()
