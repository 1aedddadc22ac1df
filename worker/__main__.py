"""`agent-worker`: one attempt at one task. The exit code says why it left (`worker.errors`).

Order matters: the lock is kept from children, and the memory from other processes, before a secret
is read or anything is started.
"""

from __future__ import annotations

import asyncio
import sys

from shared.worker_env import WorkerEnvError
from worker import app
from worker.errors import ExitCode, NoSecrets
from worker.sandbox import protect_self
from worker.settings import guard_lock, read_settings


def main() -> int:
    guard_lock()
    protect_self()
    try:
        settings = read_settings()
    except (WorkerEnvError, NoSecrets) as error:
        sys.stderr.write(f"agent-worker: {error}\n")
        return ExitCode.BAD_ENVIRONMENT
    return asyncio.run(app.run(settings))


if __name__ == "__main__":
    sys.exit(main())
