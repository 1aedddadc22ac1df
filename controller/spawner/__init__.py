"""What the controller asks of an engine that runs workers; edges beside this file provide it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from shared.worker_env import WorkerEnv, WorkerSecrets


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """Everything that a start needs."""

    env: WorkerEnv
    secrets: WorkerSecrets


@dataclass(frozen=True, slots=True)
class WorkerRef:
    """One worker: the attempt `attempt` of task N; `job` is the engine's own name for it."""

    task: int
    attempt: int
    job: str


class WorkerState(StrEnum):
    """What the engine knows of a worker."""

    STARTING = "starting"
    RUNNING = "running"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class WorkerSeen:
    """One row of `list()`."""

    ref: WorkerRef
    state: WorkerState
    cause: str = ""
    """Of an ended one, in a word of `worker_exited.reason`; "" = unknown."""


@dataclass(frozen=True, slots=True)
class WorkerList:
    """All workers of this instance. Incomplete lists prove nothing gone."""

    workers: tuple[WorkerSeen, ...]
    complete: bool
    highest_task: int = 0
    """Highest N that any worker or workspace names: a witness for the next number."""


class SpawnError(Exception):
    """A start that failed. `transient` = quota or API trouble: worth the same attempt again."""

    def __init__(self, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient


class Spawner(Protocol):
    """Two edges behind it (design 11), one set of contract tests for both."""

    async def spawn(self, spec: WorkerSpec) -> WorkerRef:
        """Start it, or adopt the one of this attempt that is there. Raises SpawnError."""

    async def kill(self, ref: WorkerRef) -> None:
        """End it with everything it started; returns when it is gone."""

    async def list(self) -> WorkerList: ...

    async def changed(self) -> None:
        """Returns when a worker may have started or ended since the last call."""
