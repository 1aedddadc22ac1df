"""A task's facts in METADATA (design 4): a few fat keys, plain text or one JSON object each. Pure.

`status`, `requester`, `assignee`, `created`, `reason`, `pr`, `blocked_by`, `repo`, `repo_url`,
`default_branch`, `model`, `budget`, `priority` are plain text; `run`, `times` and `usage` are JSON
objects. A key at its default is absent. The pieces of the description are `shared.description`'s.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar, get_type_hints

from shared.description import cut_bytes
from shared.task import Run, Status, Task, Times, Usage

T = TypeVar("T")
D = TypeVar("D")

_VALUE_BYTES = 330
_NUMBER_BOUND = 2**53
"""Above it a number is nobody's count or time, and arithmetic with it fails."""


def to_metadata(task: Task) -> dict[str, str]:
    """Key -> value for everything that is not at its default; `description.*` left out.

    ergo refuses key + value over 350 bytes, so long plain values are cut here.
    """
    text = {
        "status": str(task.status),
        "requester": task.requester or "",
        "assignee": task.assignee or "",
        "created": str(task.created) if task.created else "",
        "reason": task.reason or "",
        "pr": task.pr or "",
        "blocked_by": ",".join(task.blocked_by),
        "repo": task.repo or "",
        "repo_url": task.repo_url or "",
        "default_branch": task.default_branch or "",
        "model": task.model or "",
        "budget": "" if task.budget is None else f"{task.budget:g}",
        "priority": str(task.priority) if task.priority else "",
        "run": _without_defaults(task.run),
        "times": _times_json(task.times),
        "usage": _without_defaults(task.usage),
    }
    return {key: cut_bytes(value, _VALUE_BYTES) for key, value in text.items() if value}


def changes(old: Task | None, new: Task) -> dict[str, str | None]:
    """METADATA writes that turn `old` into `new`; None deletes a key."""
    before = to_metadata(old) if old is not None else {}
    after = to_metadata(new)
    written: dict[str, str | None] = {k: v for k, v in after.items() if before.get(k) != v}
    return written | dict.fromkeys(sorted(before.keys() - after.keys()))


class Problems(list[str]):
    """What was wrong with stored values, in words for #tasks."""


def from_metadata(channel: str, values: Mapping[str, str], title: str, found: Problems) -> Task:
    """Read a task back. Bad values are left at their default and named in `found`."""
    status = _read(values, "status", Status, Status.PENDING, found)
    if not values.get("requester"):
        found.append(f"{channel} has no requester")
    return Task(
        channel=channel,
        title=title,
        status=status,
        requester=values.get("requester") or None,
        assignee=values.get("assignee") or None,
        created=_read(values, "created", _parse_count, 0, found),
        reason=values.get("reason") or None,
        pr=values.get("pr") or None,
        blocked_by=tuple(c for c in values.get("blocked_by", "").split(",") if c),
        repo=values.get("repo") or None,
        repo_url=values.get("repo_url") or None,
        default_branch=values.get("default_branch") or None,
        model=values.get("model") or None,
        budget=_read(values, "budget", _parse_amount, None, found),
        priority=_read(values, "priority", _parse_count, 0, found),
        run=_read(values, "run", _parse_run, Run(), found),
        times=_read(values, "times", _parse_times, Times(), found),
        usage=_read(values, "usage", _parse_usage, Usage(), found),
    )


def _read(
    values: Mapping[str, str], key: str, parse: Callable[[str], T], default: D, found: Problems
) -> T | D:
    raw = values.get(key)
    if not raw:
        return default
    try:
        return parse(raw)
    except (ValueError, TypeError, AttributeError):
        found.append(f"METADATA {key} is not readable: {raw[:60]!r}")
        return default


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _without_defaults(value: Run | Usage) -> str:
    filled = {f.name: v for f in fields(value) if (v := getattr(value, f.name)) != f.default}
    return _json(filled) if filled else ""


def _times_json(times: Times) -> str:
    if times == Times():
        return ""
    return _json({"rev": times.rev} | {str(s): at for s, at in sorted(times.entered.items())})


def _parse_count(raw: str) -> int:
    return int(_checked(int(raw), int))


def _parse_amount(raw: str) -> float:
    return float(_checked(float(raw), float))


def _parse_run(raw: str) -> Run:
    return Run(**_known(json.loads(raw), Run))


def _parse_usage(raw: str) -> Usage:
    return Usage(**_known(json.loads(raw), Usage))


def _known(stored: dict[str, Any], kind: type[Run | Usage]) -> dict[str, Any]:
    """The fields that we know; a newer controller may have stored more."""
    hints = get_type_hints(kind)
    return {k: _checked(v, hints[k]) for k, v in stored.items() if k in hints}


def _parse_times(raw: str) -> Times:
    stored = json.loads(raw)
    known = set(Status)
    entered = {Status(k): _checked(v, int) for k, v in stored.items() if k in known}
    return Times(_checked(stored.get("rev", 0), int), entered)


def _checked(value: Any, hint: Any) -> Any:
    """The value, if it is of this type and no absurd number; a person may have written it."""
    fits = isinstance(value, int | float if hint is float else hint)
    is_number = isinstance(value, int | float)
    if not fits or isinstance(value, bool) or (is_number and not 0 <= value < _NUMBER_BOUND):
        raise ValueError(f"{value!r} does not fit")
    return value
