"""How `write` and `edit` change a file: one at a time per real path, and whole or not at all."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import stat
from pathlib import Path
from weakref import WeakValueDictionary

from worker.tools import ToolError


class FileLocks:
    """One lock per real path, so that two names of one file share it; others run in parallel."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, real_path: str) -> asyncio.Lock:
        """The lock of this file; it lives as long as somebody holds or awaits it."""
        lock = self._locks.get(real_path)
        if lock is None:
            lock = self._locks[real_path] = asyncio.Lock()
        return lock


def replace_file(real_path: Path, content: bytes) -> None:
    """Write a temporary file beside it and rename: a failure leaves the old file whole."""
    mode = _writable_mode(real_path)
    temporary = real_path.with_name(f".{real_path.name[:200]}.{secrets.token_hex(6)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            if mode is not None:
                os.fchmod(stream.fileno(), mode)
        temporary.replace(real_path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise


def _writable_mode(path: Path) -> int | None:
    """Mode bits of the file to be replaced, None if there is none yet."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise ToolError(f"{path}: Is a directory (EISDIR); name a file in it")
    if not stat.S_ISREG(mode):
        raise ToolError(f"{path}: not a regular file; it is not replaced")
    if not os.access(path, os.W_OK):
        # a rename would get round the mode bits; the owner of a read-only file means them
        raise ToolError(f"{path}: Permission denied (EACCES); the file is read-only")
    return stat.S_IMODE(mode)
