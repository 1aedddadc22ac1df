"""The lock of a local task: who holds it lives. `run/task-<N>.lock` and `run/task-<N>.pid`.

The lock file holds the attempt, written by the controller, and the pid, written by the worker
itself: so a controller that was killed before it noted the pid loses no worker.
"""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_NAME = re.compile(r"task-([1-9][0-9]*)\.lock")


@dataclass(frozen=True, slots=True)
class LockState:
    """What one look at a lock shows."""

    task: int
    attempt: int | None
    """None = nobody has written it yet."""
    held: bool
    pid: int | None
    """Of the last worker; None where none was found."""


@dataclass(frozen=True, slots=True)
class TaskLock:
    """The files of task N in the folder `run`."""

    run: Path
    task: int

    @classmethod
    def all(cls, run: Path) -> list[TaskLock]:
        matches = [_NAME.fullmatch(path.name) for path in run.glob("task-*.lock")]
        return [cls(run, int(match[1])) for match in matches if match]

    @property
    def path(self) -> Path:
        return self.run / f"task-{self.task}.lock"

    @property
    def pid_path(self) -> Path:
        return self.run / f"task-{self.task}.pid"

    def take(self, attempt: int) -> int | None:
        """Lock it for a worker of this attempt; the descriptor to inherit, or None if it is held.

        An flock belongs to the open file, so it lives on in whoever inherits the descriptor.
        """
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        with suppress(FileNotFoundError):
            self.pid_path.unlink()
        text = f"{attempt}\n".encode()
        os.pwrite(descriptor, text, 0)
        os.ftruncate(descriptor, len(text))
        return descriptor

    def note_pid(self, pid: int) -> None:
        """By rename, so that a reader finds a whole number or no file."""
        draft = self.run / f".task-{self.task}.pid"
        draft.write_text(f"{pid}\n")
        draft.replace(self.pid_path)

    def look(self) -> LockState:
        try:
            with self.path.open("rb") as file:
                held = not _free(file.fileno())
                attempt, holder = _parse(file.read())
        except FileNotFoundError:
            return LockState(self.task, None, held=False, pid=None)
        return LockState(self.task, attempt, held, holder or self._noted_pid())

    def holder(self) -> int | None:
        """Pid of the live worker. While the lock is held, what stands there is this worker's:
        `take` has removed what the last one left. (A worker hides its descriptors in /proc.)"""
        state = self.look()
        return state.pid if state.held else None

    def _noted_pid(self) -> int | None:
        try:
            return _number(self.pid_path.read_bytes())
        except FileNotFoundError:
            return None


def _free(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _number(raw: bytes) -> int | None:
    return int(raw) if raw.strip().isdigit() else None


def _parse(raw: bytes) -> tuple[int | None, int | None]:
    """`<attempt>` by the controller, then `<pid>` by the worker, each a line."""
    lines = [*raw.split(b"\n"), b"", b""]
    return _number(lines[0]), _number(lines[1])
