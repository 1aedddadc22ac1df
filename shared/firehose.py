"""#firehose, version 1 (design 9): one JSON object per PRIVMSG, at most 400 bytes. Pure.

Every event has `v`, `id` (monotonic per controller process), `t` (unix seconds) and `kind`; task
events also `task` and `repo`; events of a command or directive `cause` (msgid) and `at` (the
channel or account where it stands). `cut:true` says that a long value was shortened. Readers keep
unknown kinds and fields.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

VERSION = 1
MAX_BYTES = 400
_CUTTABLE = ("value", "title", "question", "reason", "args", "why")
"""Free text; names, ids and numbers are never cut. The longest is shortened first."""

KINDS: Mapping[str, tuple[str, ...]] = {
    "task_created": ("title", "requester"),
    "task_updated": ("field", "value"),
    "task_ready": ("priority", "front"),
    "task_assigned": ("assignee",),
    "worker_spawned": ("worker", "pod", "model", "attempt"),
    "status": (
        "status", "prev_status", "rev", "attempt", "worker", "seq", "reason", "question",
        "waits_for",
    ),
    "tool_call_start": ("worker", "tool", "args"),
    "tool_call_end": ("worker", "tool", "ok", "duration_ms"),
    "permission_request": ("worker", "tool", "perm_id"),
    "permission_resolved": ("perm_id", "granted", "by"),
    "worker_exited": ("worker", "reason"),
    "task_completed": ("by",),
    "task_archived": (),
    "cost": ("worker", "cost_usd", "tokens_in", "tokens_out"),
    "task_snapshot": ("status", "rev", "title", "requester", "assignee", "reason"),
    "task_snapshot_more": ("times", "attempt", "worker", "cost_usd", "question", "waits_for"),
}  # fmt: skip
"""kind -> its own fields, in the order of the wire. docs/firehose.md is generated from it."""


class FirehoseError(Exception):
    """Not an event: a line that is no JSON object of ours, or an event that cannot be encoded."""


@dataclass(frozen=True, slots=True)
class Event:
    """One happening. `fields` holds the kind's own fields; None values are left out."""

    kind: str
    task: str | None = None
    """Channel of the task; None for events of no task."""
    repo: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    cause: str | None = None
    at: str | None = None
    cut: bool = False

    def __post_init__(self) -> None:
        unknown = set(self.fields) - set(KINDS.get(self.kind, self.fields))
        if unknown:
            raise FirehoseError(f"{self.kind} has no field {', '.join(sorted(unknown))}")


@dataclass(frozen=True, slots=True)
class Record:
    """An event as it stands on #firehose."""

    id: int
    t: float
    event: Event


def encode(event: Event, id: int, t: float) -> str:
    """The line for #firehose: compact JSON, at most 400 bytes of UTF-8.

    Free text is shortened to fit; raises FirehoseError where only ids and names are too long.
    """
    wire = _wire(event, id, t)
    while len(line := _dumps(wire).encode()) > MAX_BYTES:
        longest = max(
            (k for k in _CUTTABLE if k in wire), key=lambda k: len(str(wire[k])), default=""
        )
        excess = len(line) - MAX_BYTES
        text = str(wire.get(longest, "")).removesuffix("…")
        if not text:
            raise FirehoseError(f"{event.kind} of {event.task} does not fit {MAX_BYTES} bytes")
        wire["cut"] = True
        wire[longest] = text[: -max(1, excess // 4)] + "…"
    return line.decode()


def decode(line: str) -> Record:
    """Read a line of #firehose; unknown kinds and fields are kept. Raises FirehoseError."""
    try:
        wire = json.loads(line)
        id, t, kind = int(wire.pop("id")), float(wire.pop("t")), str(wire.pop("kind"))
        version = int(wire.pop("v"))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise FirehoseError(f"not an event: {line[:80]!r}") from error
    if version > VERSION:
        raise FirehoseError(f"an event of version {version}; this reader knows {VERSION}")
    head = {key: wire.pop(key, None) for key in ("task", "repo", "cause", "at")}
    if not math.isfinite(t) or not all(v is None or isinstance(v, str) for v in head.values()):
        raise FirehoseError(f"not an event: {line[:80]!r}")
    cut = bool(wire.pop("cut", False))
    return Record(id, t, _lenient(kind, wire, head, cut=cut))


def _lenient(
    kind: str, fields: Mapping[str, Any], head: Mapping[str, str | None], *, cut: bool
) -> Event:
    """An event as read: a newer controller may give a known kind more fields."""
    event = Event(kind, head["task"], head["repo"], {}, head["cause"], head["at"], cut)
    object.__setattr__(event, "fields", dict(fields))
    return event


def _wire(event: Event, id: int, t: float) -> dict[str, Any]:
    wire: dict[str, Any] = {"v": VERSION, "id": id, "t": round(t, 3), "kind": event.kind}
    if event.task is not None:
        wire |= {"task": event.task, "repo": event.repo}
    known = [name for name in KINDS.get(event.kind, ()) if name in event.fields]
    for name in known or event.fields:
        if event.fields[name] is not None:
            wire[name] = event.fields[name]
    wire |= {k: v for k, v in (("cause", event.cause), ("at", event.at)) if v is not None}
    return wire | ({"cut": True} if event.cut else {})


def _dumps(wire: Mapping[str, Any]) -> str:
    return json.dumps(wire, ensure_ascii=False, separators=(",", ":"))
