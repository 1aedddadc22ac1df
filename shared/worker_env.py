"""The contract of a spawn: a worker's environment, and the secrets that never stand in it. Pure.

Writer (a spawner) and reader (the worker) are the same dataclass, so they cannot drift.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from shared.task import Usage

SECRETS_FD = "SECRETS_FD"
"""Environment: number of the inherited descriptor from which WorkerSecrets are read once."""
LOCK_FD = "LOCK_FD"
"""Environment: number of the inherited descriptor whose lock proves that a local worker lives.

The worker keeps it open until its end, and makes it close-on-exec before it starts anything.
"""


class WorkerEnvError(Exception):
    """The environment does not hold what a worker needs; names the variable and what is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerEnv:
    """Each field is the environment variable of its name in capitals (design 11)."""

    task_id: int
    """N of the task."""
    task_channel: str
    task_description: str = ""
    """"" = too long for an environment: read it from the room."""
    task_repo: str = ""
    task_repo_url: str = ""
    task_branch: str = ""
    attempt: int
    protocol: int
    workspace: str
    """Path of the folder in which the tools work."""
    state: str
    """Path of the folder for the transcript, outside what tools see."""
    model: str = "anthropic"
    """`anthropic` or `rehearsal`."""
    worker_model: str
    """Name of the model at the API."""
    anthropic_base_url: str = ""
    sandbox: str = "auto"
    """`auto` or `none`."""
    sandbox_hide: str = ""
    """Path that tools must not see although the worker lives in it; "" = none."""
    irc_host: str
    irc_port: int
    irc_tls: bool = False
    irc_account: str
    """The worker logs in with it and carries it as nick."""
    controller_account: str
    agent_idle_exit_seconds: int
    agent_memory_lines: int
    agent_max_turns: int
    budget_usd: float
    """US dollars for the whole task; 0 = none."""
    usage: Usage = field(default_factory=Usage)
    """Totals of the attempts before."""
    job_active_deadline_seconds: int
    """Working time of this attempt."""
    requester: str
    maintainers: tuple[str, ...] = ()
    steer: str = "members"
    policy: str = ""
    permission_timeout_seconds: int = 0
    """0 = no timer."""
    line_max_bytes: int = 350
    irc_tool: bool = True

    def to_env(self) -> dict[str, str]:
        """Variable -> text: numbers in decimal, flags true/false, lists by comma, usage as JSON."""
        return {f.name.upper(): _text(getattr(self, f.name)) for f in fields(self)}

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> WorkerEnv:
        """Read it back. Raises WorkerEnvError; unknown variables are ignored."""
        values = {
            f.name: _value(f.name.upper(), str(f.type), env[f.name.upper()])
            for f in fields(cls)
            if f.name.upper() in env
        }
        try:
            return cls(**values)
        except TypeError as error:
            raise WorkerEnvError(f"the worker's environment is incomplete: {error}") from error


@dataclass(frozen=True, slots=True)
class WorkerSecrets:
    """Handed over through a pipe (locally) or a mounted file, never the environment."""

    irc_password: str = field(repr=False)
    anthropic_api_key: str = field(default="", repr=False)
    git_token: str = field(default="", repr=False)

    def to_json(self) -> str:
        return json.dumps({f.name: getattr(self, f.name) for f in fields(self)})

    @classmethod
    def from_json(cls, text: str) -> WorkerSecrets:
        """Raises WorkerEnvError, which never quotes what it read."""
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError) as error:
            raise WorkerEnvError("the worker's secrets are not readable") from error


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, Usage):
        return json.dumps({f.name: getattr(value, f.name) for f in fields(value)})
    return str(value)


def _value(name: str, kind: str, text: str) -> Any:
    try:
        match kind:
            case "int":
                return int(text)
            case "float":
                return float(text)
            case "bool":
                return {"true": True, "false": False}[text]
            case "tuple[str, ...]":
                return tuple(part for part in text.split(",") if part)
            case "Usage":
                return Usage(**json.loads(text))
            case _:
                return text
    except (ValueError, KeyError, TypeError) as error:
        raise WorkerEnvError(f"{name}={text!r} is not a {kind}") from error
