"""What a worker is told at its start: environment, inherited descriptors, secrets.

The only reader of os.environ in this program.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.worker_env import LOCK_FD, SECRETS_FD, WorkerEnv, WorkerSecrets
from worker.errors import NoSecrets


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that comes from outside."""

    env: WorkerEnv
    secrets: WorkerSecrets
    surroundings: Mapping[str, str] = field(repr=False)
    """The environment as we got it; tools get a clean one made of it."""


def guard_lock(environ: Mapping[str, str] = os.environ) -> None:
    """Keep the lock that proves our life to ourselves: nothing that we start may inherit it.

    Our pid goes into its file, behind the attempt: who looks for us cannot see our descriptors.
    """
    number = environ.get(LOCK_FD, "")
    if not number.isdigit():
        return
    descriptor = int(number)
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFD)
    fcntl.fcntl(descriptor, fcntl.F_SETFD, flags | fcntl.FD_CLOEXEC)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), os.fstat(descriptor).st_size)


def read_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Raises WorkerEnvError and NoSecrets. The descriptor of the secrets is used up by this."""
    secrets = WorkerSecrets.from_json(_read_once(environ.get(SECRETS_FD, "")))
    return Settings(WorkerEnv.from_env(environ), secrets, dict(environ))


def _read_once(descriptor: str) -> str:
    if not descriptor.isdigit():
        raise NoSecrets(f"{SECRETS_FD} must be the number of a descriptor to read secrets from")
    try:
        with os.fdopen(int(descriptor), encoding="utf-8") as pipe:
            return pipe.read()
    except OSError as error:
        raise NoSecrets(f"{SECRETS_FD}={descriptor} cannot be read: {error.strerror}") from error
