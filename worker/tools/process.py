"""Runs one command: its own session, output through our own pipe, an end that always comes.

What ends a run is the exit of the command, not the end of its output: a server left in the
background keeps the pipe open for ever. `asyncio`'s own `Process.wait` waits for that end too
(CPython 3.11 and later), hence the pipe and the pidfd.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from worker.tools.children import Children

_CHUNK_BYTES: Final = 64 * 1024
_QUIET_SECONDS: Final = 0.1
_LINGER_SECONDS: Final = 5.0
_KILL_SECONDS: Final = 5.0


class Cause(Enum):
    """Why a run ended."""

    EXITED = "exited"
    TIMED_OUT = "timed out"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended."""

    cause: Cause
    exit_code: int
    """As a shell would say it: 128 + n after signal n."""
    still_writing: bool
    """The command has exited, but what it left in the background went on writing."""


@dataclass(frozen=True, slots=True)
class Command:
    """What to run."""

    argv: Sequence[str]
    working_directory: Path
    deadline_seconds: float


class Output:
    """The reading end of a pipe; every chunk goes to `sink` as it arrives."""

    def __init__(self, descriptor: int, sink: Callable[[bytes], None]) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._sink = sink
        self._arrived = asyncio.Event()
        self.is_open = True
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    async def settle(self, cap_seconds: float) -> bool:
        """Wait until it is closed or quiet; False if it was neither within the cap."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(cap_seconds):
                while self.is_open and await self._more():
                    pass
                return True
        return False

    def leave(self) -> None:
        """Let the rest run into nothing: closing would kill a background server by SIGPIPE."""
        self._sink = _discard

    async def _more(self) -> bool:
        self._arrived.clear()
        try:
            async with asyncio.timeout(_QUIET_SECONDS):
                await self._arrived.wait()
        except TimeoutError:
            return False
        return True

    def _read(self) -> None:
        try:
            chunk = os.read(self._descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return
        self._arrived.set()
        if chunk:
            self._sink(chunk)
            return
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)
        self.is_open = False


def _discard(_chunk: bytes) -> None:
    pass


async def run_command(
    command: Command,
    children: Children,
    sink: Callable[[bytes], None],
    aborted: asyncio.Event,
) -> Ending:
    """Run to the end, the deadline or the abort; the last two kill the whole group."""
    process, output = _spawn(command, sink)
    children.awaited.add(process.pid)
    loop = asyncio.get_running_loop()
    started = loop.time()
    try:
        with _exit_event(process) as exited:
            cause = await _first_end(exited, aborted, command.deadline_seconds)
            if cause is not Cause.EXITED:
                _kill_group(process)
                await asyncio.wait_for(exited.wait(), _KILL_SECONDS)
        left = max(command.deadline_seconds - (loop.time() - started), _QUIET_SECONDS)
        settled = await output.settle(min(left, _LINGER_SECONDS))
        return Ending(cause, _exit_code(process), still_writing=not settled)
    finally:
        # before the leader is reaped its number cannot have passed to another group
        if process.returncode is None:
            _kill_group(process)
            process.wait()
        children.awaited.discard(process.pid)
        output.leave()


def _spawn(
    command: Command, sink: Callable[[bytes], None]
) -> tuple[subprocess.Popen[bytes], Output]:
    reader, writer = os.pipe()
    try:
        process = subprocess.Popen(
            command.argv,
            cwd=command.working_directory,
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=writer,
            start_new_session=True,
        )
    except BaseException:
        os.close(reader)
        raise
    finally:
        os.close(writer)
    return process, Output(reader, sink)


@contextlib.contextmanager
def _exit_event(process: subprocess.Popen[bytes]) -> Iterator[asyncio.Event]:
    """Set when the process is dead; it stays a zombie until it is waited for."""
    loop = asyncio.get_running_loop()
    exited = asyncio.Event()
    descriptor = os.pidfd_open(process.pid)

    def note_exit() -> None:
        loop.remove_reader(descriptor)
        exited.set()

    loop.add_reader(descriptor, note_exit)
    try:
        yield exited
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


async def _first_end(
    exited: asyncio.Event, aborted: asyncio.Event, deadline_seconds: float
) -> Cause:
    async with asyncio.TaskGroup() as group:
        waits = [group.create_task(event.wait()) for event in (exited, aborted)]
        await asyncio.wait(waits, timeout=deadline_seconds, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
    if exited.is_set():
        return Cause.EXITED
    return Cause.ABORTED if aborted.is_set() else Cause.TIMED_OUT


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _exit_code(process: subprocess.Popen[bytes]) -> int:
    code = process.wait()
    return code if code >= 0 else 128 - code
