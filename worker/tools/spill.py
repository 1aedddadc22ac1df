"""Where the output goes that is too long to show: private files, bounded in number and size."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections import deque
from pathlib import Path

MAX_FILE_BYTES = 50 * 1024 * 1024
_MAX_FILES = 8


class SpillFile:
    """One command's whole output up to 50 MiB, mode 0600."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_whole = True
        """False once something did not fit, in the cap or on the disk."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._stream = os.fdopen(os.open(path, flags, 0o600), "wb", buffering=0)
        self._room = MAX_FILE_BYTES

    def write(self, data: bytes) -> None:
        """Keep what fits; a full disk must not fail the command."""
        if not self.is_whole:
            return
        try:
            written = self._stream.write(data[: self._room])
        except OSError:
            written = 0
        self._room -= written
        self.is_whole = written == len(data)

    def close(self) -> None:
        """The file stays."""
        self._stream.close()


class SpillFolder:
    """The folder is memory in a sandbox, so only the newest files are kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count(1)
        self._paths: deque[Path] = deque()

    def create(self) -> SpillFile:
        """A new file; the oldest goes when there are too many."""
        file = SpillFile(self._folder / f"output-{next(self._numbers)}.log")
        self._paths.append(file.path)
        if len(self._paths) > _MAX_FILES:
            with contextlib.suppress(FileNotFoundError):
                self._paths.popleft().unlink()
        return file
