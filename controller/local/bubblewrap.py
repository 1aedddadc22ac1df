"""Whether bubblewrap works on this machine, so that a person hears of it before a task does."""

from __future__ import annotations

import subprocess

_PROBE = ("bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--", "true")
_PROBE_SECONDS = 10


def bubblewrap_works() -> bool:
    """A rough look; each worker makes its own."""
    try:
        done = subprocess.run(_PROBE, capture_output=True, timeout=_PROBE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
