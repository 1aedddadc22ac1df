from typing import Any

import pytest

from shared.task import Usage
from shared.worker_env import WorkerEnv, WorkerEnvError, WorkerSecrets

BARE: dict[str, Any] = {
    "task_id": 12, "task_channel": "#task-12", "attempt": 1, "protocol": 1, "workspace": "w",
    "state": "s", "worker_model": "claude-sonnet-4-6", "irc_host": "127.0.0.1", "irc_port": 6667,
    "irc_account": "HAL-9000", "controller_account": "controller", "agent_idle_exit_seconds": 1800,
    "agent_memory_lines": 100, "agent_max_turns": 200, "budget_usd": 10.0,
    "job_active_deadline_seconds": 3600, "requester": "alice",
}  # fmt: skip
FULL = BARE | {
    "task_description": "fix «it»\nnow", "irc_tls": True, "maintainers": ("bob", "you"),
    "usage": Usage(0.5, 10, 5, 2, 1), "irc_tool": False, "model": "rehearsal", "sandbox": "none",
}  # fmt: skip


@pytest.mark.parametrize("values", [BARE, FULL], ids=["bare", "full"])
def test_the_environment_reads_back(values: dict[str, Any]) -> None:
    env = WorkerEnv(**values)
    assert WorkerEnv.from_env(env.to_env()) == env
    assert WorkerEnv.from_env(env.to_env() | {"PATH": "/bin"}) == env


def test_a_missing_variable_is_named() -> None:
    env = WorkerEnv(**BARE).to_env()
    del env["IRC_PORT"]
    with pytest.raises(WorkerEnvError, match="irc_port"):
        WorkerEnv.from_env(env)


@pytest.mark.parametrize(
    ("name", "value"),
    [("IRC_PORT", "six"), ("BUDGET_USD", "much"), ("IRC_TLS", "yes"), ("USAGE", "[]")],
)
def test_a_bad_value_is_named(name: str, value: str) -> None:
    with pytest.raises(WorkerEnvError, match=name):
        WorkerEnv.from_env(WorkerEnv(**BARE).to_env() | {name: value})


def test_secrets_read_back_and_never_show() -> None:
    secrets = WorkerSecrets("p4ss", "k3y", "t0ken")
    assert WorkerSecrets.from_json(secrets.to_json()) == secrets
    assert "p4ss" not in repr(secrets)
    with pytest.raises(WorkerEnvError) as caught:
        WorkerSecrets.from_json('{"irc_password": "p4ss"')
    assert "p4ss" not in str(caught.value)
