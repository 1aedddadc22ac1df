"""`[meta] key=value`: which keys a worker may set, and how each is read. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from shared.channels import parse_task_channel
from shared.task import TITLE_CHARS, Task, Usage, title_from

_PR = re.compile(r"https?://\S{1,250} (?:open|merged|closed)")
_BRANCH = re.compile(r"(?!-)[\w./+-]{1,120}")


@dataclass(frozen=True, slots=True)
class NotMeta:
    """Why a key or value is not taken."""

    why: str


def with_meta(task: Task, key: str, value: str) -> Task | NotMeta:
    """The task with this fact; totals never go down."""
    read = _KEYS.get(key)
    if read is None:
        return NotMeta(f"a worker may not set {key[:40]!r}; it may set {', '.join(_KEYS)}")
    changed = read(task, value)
    return changed or NotMeta(f"{key}={value[:60]!r} is not readable")


def _total(field: str) -> Callable[[Task, str], Task | None]:
    def read(task: Task, value: str) -> Task | None:
        number = _count(value)
        if number is None:
            return None
        usage = replace(Usage(), **{field: number})
        return replace(task, usage=task.usage.at_least(usage))

    return read


def _count(value: str) -> int | None:
    return int(value) if value.isascii() and value.isdigit() and len(value) < 16 else None


def _cost(task: Task, value: str) -> Task | None:
    try:
        usd = float(value)
    except ValueError:
        return None
    if not math.isfinite(usd) or not 0 <= usd < 1e9:
        return None
    return replace(task, usage=task.usage.at_least(Usage(cost_usd=usd)))


def _pr(task: Task, value: str) -> Task | None:
    return replace(task, pr=value) if _PR.fullmatch(value) else None


def _blocked_by(task: Task, value: str) -> Task | None:
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    if not all(parse_task_channel(name) for name in names) or task.channel in names:
        return None
    return replace(task, blocked_by=names)


def _title(task: Task, value: str) -> Task | None:
    title = title_from(value)
    return replace(task, title=title) if title and len(value) <= TITLE_CHARS else None


def _branch(task: Task, value: str) -> Task | None:
    return replace(task, default_branch=value) if _BRANCH.fullmatch(value) else None


_KEYS: Mapping[str, Callable[[Task, str], Task | None]] = {
    "pr": _pr,
    "cost_usd": _cost,
    "cost": _cost,
    "tokens_in": _total("tokens_in"),
    "tokens_out": _total("tokens_out"),
    "tokens_cached": _total("tokens_cached"),
    "turns": _total("turns"),
    "blocked_by": _blocked_by,
    "title": _title,
    "default_branch": _branch,
}
