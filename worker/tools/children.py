"""Everything a tool host started, however far it has run away.

The host is the subreaper of its descendants: what double-forks or leaves its session comes back to
it as a child, so that it can be reaped while the host lives and killed when it ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from worker.tools.environment import MARKER

_POLL_SECONDS = 0.005


class Children:
    """The shells that somebody awaits; all other children are orphans that came back."""

    def __init__(self) -> None:
        self.awaited: set[int] = set()

    def reap_orphans(self) -> None:
        """Collect dead orphans; the exit of an awaited child is left for who awaits it."""
        for pid in set(_children()) - self.awaited:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)

    def end_orphans(self, deadline_seconds: float) -> bool:
        """Kill and reap what nobody awaits, and all that comes of it; see `end_all`."""
        return _end(lambda: set(_children()) - self.awaited, deadline_seconds)


def end_all(deadline_seconds: float) -> bool:
    """Kill and reap all descendants; False if some were still there at the deadline.

    Blocks. Level by level: the children of what was killed come back as children of this process.
    """
    return _end(lambda: set(_children()), deadline_seconds)


def _end(find: Callable[[], set[int]], deadline_seconds: float) -> bool:
    deadline = time.monotonic() + deadline_seconds
    while children := find():
        for pid in children:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def end_marked(marker: str, deadline_seconds: float) -> bool:
    """Kill what a host started that was itself killed, found by its mark in the environment.

    Blocks. A process that cleaned its environment is not found; a sandbox leaves none behind.
    """
    deadline = time.monotonic() + deadline_seconds
    while marked := list(_marked(marker)):
        for pid in marked:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _marked(marker: str) -> Iterator[int]:
    wanted = f"{MARKER}={marker}".encode()
    for pid in _pids():
        with contextlib.suppress(OSError):
            if wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                yield pid


def _children() -> Iterator[int]:
    me = os.getpid()
    for pid in _pids():
        with contextlib.suppress(OSError):
            # "pid (name) state ppid ...", and the name may hold anything
            fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            if int(fields[1]) == me:
                yield pid


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal())
