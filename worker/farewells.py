"""The ways in which a worker leaves: what it says, and with which exit code. Pure."""

from __future__ import annotations

from worker.effects import Leave
from worker.errors import ExitCode

IDLE = Leave("agent has left (idle); `!reopen` or an answer brings it back", ExitCode.OK)
TERMINATED = Leave("agent was told to end (SIGTERM)", ExitCode.TERMINATED, patience_seconds=0.5)
NOT_STARTED = Leave("agent has left: it could not start", ExitCode.START_FAILED)


def dismissed(reason: str) -> Leave:
    """The controller has said so."""
    return Leave(f"agent has left: {reason}", ExitCode.OK)


def broken(error: BaseException) -> Leave:
    """A defect of the worker itself; its log has the rest."""
    name = type(error).__name__
    return Leave(f"agent has left: a defect of the worker itself ({name})", ExitCode.FAILED)
