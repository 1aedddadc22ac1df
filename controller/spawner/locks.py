"""The lock of a local task: who holds it lives. `run/task-<N>.lock` and `run/task-<N>.pid`."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
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
                attempt = _number(file.read())
        except FileNotFoundError:
            return LockState(self.task, None, held=False, pid=None)
        pid = self._noted_pid()
        if held and pid is None:
            pid = self.holder()
        return LockState(self.task, attempt, held, pid)

    def holder(self) -> int | None:
        """Pid of the live worker, proven by its open descriptor: pids are used again."""
        noted = self._noted_pid()
        if noted is not None and self._is_open_in(noted):
            return noted
        return next((pid for pid in _pids() if self._is_open_in(pid)), None)

    def _noted_pid(self) -> int | None:
        try:
            return _number(self.pid_path.read_bytes())
        except FileNotFoundError:
            return None

    def _is_open_in(self, pid: int) -> bool:
        if pid == os.getpid():
            return False
        try:
            return any(map(self._is_ours, Path(f"/proc/{pid}/fd").iterdir()))
        except OSError:  # gone, or another user's
            return False

    def _is_ours(self, descriptor: Path) -> bool:
        try:
            return descriptor.samefile(self.path)
        except OSError:  # closed meanwhile
            return False


def _free(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _number(raw: bytes) -> int | None:
    return int(raw) if raw.strip().isdigit() else None


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
