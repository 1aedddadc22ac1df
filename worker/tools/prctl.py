"""The switches of the Linux kernel that a process must flip about itself."""

from __future__ import annotations

import ctypes
import os

_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_CAP_SYS_PTRACE = 19
_CAPABILITY_VERSION = 0x20080522


def set_undumpable() -> None:
    """No other process of this user may read this one's memory, environment or descriptors."""
    _prctl(_PR_SET_DUMPABLE, 0)


def set_child_subreaper() -> None:
    """Orphaned descendants become children of this process instead of PID 1's."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def give_up_ptrace() -> None:
    """For root, who may look into undumpable processes: neither we nor what we start may then."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    # effective, permitted and inheritable of capabilities 0 to 31, then of the others
    sets = (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets) != 0 or not sets[1] >> _CAP_SYS_PTRACE & 1:
        return
    _prctl(_PR_CAPBSET_DROP, _CAP_SYS_PTRACE)
    for index in range(3):
        sets[index] &= ~(1 << _CAP_SYS_PTRACE)
    if libc.capset(header, sets) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"capset: {os.strerror(number)}")


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}, {value}): {os.strerror(number)}")
