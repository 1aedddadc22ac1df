"""What can go wrong in a worker, and the exit code that says why it left.

WorkerError
├── NoSecrets     the inherited descriptor gives no secrets
├── StartFailed   the room is there, and the work cannot begin
└── RoomClosed    the server does not let the worker into its channel
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Why a worker left; spawners read it."""

    OK = 0
    """Told to leave, or nobody spoke to it for long."""
    FAILED = 1
    """A defect of the worker itself."""
    BAD_ENVIRONMENT = 2
    """Environment or secrets are missing or unreadable."""
    LOGIN_REFUSED = 3
    """The server does not take the account's password, or the channel is closed to it."""
    START_FAILED = 4
    """The room was told why the work could not begin."""
    TERMINATED = 143
    """SIGTERM, as shells count it."""


class WorkerError(Exception):
    """Root of the errors of the worker."""


class NoSecrets(WorkerError):
    """SECRETS_FD names no readable descriptor."""


class StartFailed(WorkerError):
    """The work cannot begin; the text says why and what to do, for the room."""


class RoomClosed(WorkerError):
    """The server refused the JOIN."""
