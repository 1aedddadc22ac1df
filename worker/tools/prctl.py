"""The two switches of the Linux kernel that a process must flip about itself."""

from __future__ import annotations

import ctypes
import os

_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36


def set_undumpable() -> None:
    """No other process of this user may read this one's memory, environment or descriptors."""
    _prctl(_PR_SET_DUMPABLE, 0)


def set_child_subreaper() -> None:
    """Orphaned descendants become children of this process instead of PID 1's."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}, {value}): {os.strerror(number)}")
