from __future__ import annotations

import os
from pathlib import Path

import pytest

from shared.worker_env import WorkerSecrets
from worker.errors import NoSecrets
from worker.settings import guard_lock, read_settings


def test_the_lock_is_not_inherited_and_names_the_worker(tmp_path: Path) -> None:
    lock = tmp_path / "task-1.lock"
    lock.write_text("3\n")
    with lock.open("r+b") as file:
        os.set_inheritable(file.fileno(), True)
        guard_lock({"LOCK_FD": str(file.fileno())})
        assert not os.get_inheritable(file.fileno())
    assert lock.read_text() == f"3\n{os.getpid()}\n"


@pytest.mark.parametrize("descriptor", ["", "x", "999"])
def test_missing_secrets_are_named(descriptor: str) -> None:
    with pytest.raises(NoSecrets, match="SECRETS_FD"):
        read_settings({"SECRETS_FD": descriptor})


def test_secrets_do_not_show_in_what_is_printed() -> None:
    assert "hunter2" not in repr(WorkerSecrets("hunter2", "hunter2", "hunter2"))
