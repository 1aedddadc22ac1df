from __future__ import annotations

import fcntl
import os

import pytest

from shared.worker_env import WorkerSecrets
from worker.errors import NoSecrets
from worker.settings import guard_lock, read_settings


def test_the_lock_is_not_inherited_by_what_the_worker_starts() -> None:
    reader, writer = os.pipe()
    os.set_inheritable(reader, True)
    guard_lock({"LOCK_FD": str(reader)})
    assert fcntl.fcntl(reader, fcntl.F_GETFD) & fcntl.FD_CLOEXEC
    os.close(reader)
    os.close(writer)


def test_without_a_lock_there_is_nothing_to_guard() -> None:
    guard_lock({})


@pytest.mark.parametrize("descriptor", ["", "x", "999"])
def test_missing_secrets_are_named(descriptor: str) -> None:
    with pytest.raises(NoSecrets, match="SECRETS_FD"):
        read_settings({"SECRETS_FD": descriptor})


def test_secrets_do_not_show_in_what_is_printed() -> None:
    assert "hunter2" not in repr(WorkerSecrets("hunter2", "hunter2", "hunter2"))
