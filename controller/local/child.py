"""One part of a local run: a process with its own session, log and pid file."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from controller.errors import LocalError
from controller.home import write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

WATCH_SECONDS = 0.1
STOP_POLL_SECONDS = 0.01
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class ChildSpec:
    """How to start a part."""

    name: str
    argv: tuple[str, ...]
    folder: Path
    """Working directory."""
    log: Path
    """stdout and stderr are appended to it."""
    pid_file: Path
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The complete environment."""
    inherited: tuple[int, ...] = ()
    """Descriptors that stay open in the child, under their numbers."""


class Child:
    """A started part. Not bound to an event loop: started in one, it may be stopped in another."""

    def __init__(self, spec: ChildSpec) -> None:
        self.spec = spec
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    @property
    def pid(self) -> int:
        """Of the last start; 0 before the first."""
        return self._process.pid if self._process else 0

    @property
    def returncode(self) -> int | None:
        """None while it runs; negative for a signal."""
        return self._process.poll() if self._process else None

    @property
    def running(self) -> bool:
        """It was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it, from the main thread: the kernel takes that thread's end for the starter's."""
        spec = self.spec
        with spec.log.open("ab") as log:
            self._log_start = log.tell()
            try:
                self._process = subprocess.Popen(
                    spec.argv,
                    cwd=spec.folder,
                    env=dict(spec.env),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=spec.inherited,
                    # Ctrl-C goes to the whole foreground group: only the starter may act on it.
                    start_new_session=True,
                    preexec_fn=_die_with(os.getpid()),
                )
            except OSError as error:
                raise LocalError(f"{spec.name} cannot be started: {error}") from error
        write_atomically(spec.pid_file, f"{self.pid}\n", mode=0o644)

    def output(self) -> str:
        """What it has logged since its last start."""
        with self.spec.log.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")

    async def wait(self) -> int:
        """Its exit status, once it has ended."""
        status = await self._ended(WATCH_SECONDS)
        self._forget_pid()
        return status

    async def stop(self, grace_seconds: float) -> None:
        """SIGTERM, then SIGKILL after the grace; harmless when it has ended already."""
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            process.terminate()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace_seconds):
                    await self._ended()
        await self.kill()

    async def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        process = self._process
        if process is None:
            return
        process.kill()
        await self._ended()
        self._forget_pid()

    async def _ended(self, every_seconds: float = STOP_POLL_SECONDS) -> int:
        while (status := self.returncode) is None:  # noqa: ASYNC110  (a process has no event)
            await asyncio.sleep(every_seconds)
        return status

    def _forget_pid(self) -> None:
        self.spec.pid_file.unlink(missing_ok=True)


def last_line(output: str) -> str:
    """The line that tells why a program ended: a Go crash begins with it, all else ends with it."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    crashes = [line for line in lines if line.startswith(("fatal error:", "panic:"))]
    return (crashes or lines[-1:] or [""])[0]


def _die_with(starter: int) -> Callable[[], None]:
    """What the child runs before exec: have the kernel send it SIGTERM when the starter dies.

    A starter that is killed outright runs no clean-up of its own. Linux only; elsewhere an orderly
    end still stops every part. The library is loaded before the fork: only the call comes after.
    """
    prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

    def prepare() -> None:
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != starter:  # it died between fork and here
                os._exit(1)

    return prepare
