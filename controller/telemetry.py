"""What a worker's tools do: `+ergonaut/tool` becomes an event; nothing else follows. Pure.

Payload: `kind` = `tool_call_start` (`tool`, `args`) or `tool_call_end` (`tool`, `ok`,
`duration_ms`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from controller.effects import Job, Telemetry
from controller.reports import is_over
from controller.transition import Told, event
from controller.world import World
from shared.description import cut_bytes
from shared.directives import parse_control_tag
from shared.ircv3.casemap import fold
from shared.task import Task

_ARGS_BYTES = 80
_NAME_CHARS = 40
_SECRET = re.compile(
    r"(?i)((?:token|secret|password|passwd|api[_-]?key|authorization)\W{1,3}(?:bearer |basic )?)\S+"
    r"|[A-Za-z0-9+/_-]{32,}"
)


def on_telemetry(world: World, told: Telemetry) -> list[Job]:
    """Only of the worker and attempt that have the task."""
    tag = parse_control_tag(told.tag)
    task = world.board.by_number(tag.task) if tag is not None else None
    if tag is None or task is None or task.run.worker is None:
        return []
    if fold(task.run.worker) != fold(told.account) or tag.attempt != task.run.attempt:
        return []
    fields = _fields(world, task, told.payload)
    if fields is None or is_over(world, task):
        return []
    kind = str(told.payload["kind"])
    return [Job(f"telemetry {task.channel}", (event(task, kind, Told(), **fields),))]


def _fields(world: World, task: Task, payload: Mapping[str, Any]) -> dict[str, Any] | None:
    fields: dict[str, Any] = {
        "worker": task.run.worker,
        "tool": str(payload.get("tool", "?"))[:_NAME_CHARS],
    }
    match payload.get("kind"):
        case "tool_call_start":
            if world.settings.firehose_args != "none":
                fields["args"] = masked(str(payload.get("args", "")))
        case "tool_call_end":
            fields["ok"] = bool(payload.get("ok"))
            duration = payload.get("duration_ms")
            if isinstance(duration, int):
                fields["duration_ms"] = duration
        case _:
            return None
    return fields


def masked(args: str) -> str:
    """The first 80 bytes, with what looks like a secret replaced."""
    return cut_bytes(_SECRET.sub(lambda m: f"{m[1] or ''}***", args), _ARGS_BYTES)
