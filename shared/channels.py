"""Names of channels: what is a task, what is a hub, what is ours. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

TASKS = "#tasks"
FIREHOSE = "#firehose"
AGENTS = "#agents"
SYSTEM_CHANNELS = (TASKS, FIREHOSE, AGENTS)

_TASK = re.compile(r"#(?:(?P<repo>[a-z0-9][a-z0-9._-]*)-)?task-(?P<number>[1-9][0-9]{0,8})", re.I)


@dataclass(frozen=True, slots=True)
class TaskChannel:
    """`#task-<N>`, or `#<repo>-task-<N>` for a task of a hub. One counter N serves both."""

    number: int
    repo: str | None = None

    @property
    def name(self) -> str:
        prefix = f"{self.repo}-" if self.repo else ""
        return f"#{prefix}task-{self.number}"


def is_channel(name: str) -> bool:
    return name.startswith("#")


def parse_task_channel(name: str) -> TaskChannel | None:
    """Read `#task-12` or `#web-task-12`, case-blind; None for any other channel."""
    match = _TASK.fullmatch(name)
    if match is None:
        return None
    repo = match["repo"]
    return TaskChannel(int(match["number"]), repo.lower() if repo else None)
