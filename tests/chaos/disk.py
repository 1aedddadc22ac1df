"""A disk that can be full: then ergo echoes every line and stores none (measured with 2.18.0).

Two other ways do something else: a limit on the size of its files (RLIMIT_FSIZE) ends ergo by a
signal, and a lock on its history database holds every line for the five seconds of busy-timeout.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_SIZE = "48m"
_BLOCK = b"x" * 4096


@contextmanager
def small_file_system(folder: Path) -> Iterator[None]:
    """Of its own, in memory. CalledProcessError without the right to mount one."""
    mount = ("mount", "-t", "tmpfs", "-o", f"size={_SIZE},mode=700", "tmpfs", str(folder))
    subprocess.run(mount, check=True)
    try:
        yield
    finally:
        subprocess.run(("umount", "--lazy", str(folder)), check=True)


@dataclass(frozen=True)
class Disk:
    """The file system of a folder; only one from `small_file_system` may be filled."""

    folder: Path

    async def fill(self, seconds: float) -> None:
        """Not a byte is free for so long."""
        filler = self.folder / "filler"
        try:
            _write_all(filler)
            await asyncio.sleep(seconds)
        finally:
            filler.unlink(missing_ok=True)


def _write_all(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        while True:
            try:
                file.write(_BLOCK)
            except OSError:
                return
