"""Stands where the controller stands under the supervisor, so that its rules are tested alone.

It says `ready`, and as STAND_IN asks: `worker` = starts one first, as the local spawner does;
`refuse` = ends with a line; `deaf` = ignores SIGTERM.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from controller.spawner.locks import TaskLock


def _start_worker(home: Path) -> None:
    lock = TaskLock(home / "run", 1)
    descriptor = lock.take(1)
    assert descriptor is not None
    program = [sys.executable, "-c", "import signal; signal.pause()"]
    worker = subprocess.Popen(program, pass_fds=(descriptor,), start_new_session=True)
    lock.note_pid(worker.pid)


def main() -> None:
    role = os.environ.get("STAND_IN", "")
    if role == "refuse":
        sys.stderr.write("starting\nthe account controller has no rights\n")
        sys.exit(1)
    if role == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if role == "worker":
        _start_worker(Path(os.environ["ERGONAUT_HOME"]))
    os.write(int(os.environ["READY_FD"]), b"ready\n")
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
