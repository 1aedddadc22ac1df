"""What an operator can set: environment variables without a prefix, each documented here.

This is the only place of the controller that reads the environment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from controller.errors import SettingsError

Names = Annotated[tuple[str, ...], NoDecode]

_HANDED_ON = (
    "PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
)  # fmt: skip
"""What a local worker keeps of our environment: enough to find programs and reach the model."""


class Settings(BaseSettings):
    """Field name in capitals = variable. Empty variables count as unset."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)

    ergonaut_home: Path = Field(
        default=Path(".ergonaut"), description="Folder for all that lives between local runs."
    )
    model: Literal["anthropic", "rehearsal"] | None = Field(
        default=None,
        description="Which model workers use; unset = `anthropic` with an ANTHROPIC_API_KEY, "
        "else `rehearsal`.",
    )
    worker_model: str = Field(
        default="claude-sonnet-4-6",
        description="Name of the model at the API, unless a task names one.",
    )
    anthropic_api_key: SecretStr = Field(
        default=SecretStr(""), description="Key of the model's API."
    )
    anthropic_base_url: str = Field(
        default="", description="URL of a compatible API; empty = the vendor's own."
    )
    sandbox: Literal["auto", "none"] = Field(
        default="auto",
        description="`auto` = tools run in bubblewrap, and not at all where it is unusable; "
        "`none` = without a sandbox.",
    )

    irc_host: str = Field(default="127.0.0.1", description="Host name or address of ergo.")
    irc_port: int = Field(default=6667, ge=1, le=65535, description="TCP port of ergo.")
    irc_tls: bool = Field(default=False, description="Whether to speak TLS to it.")
    irc_nick: str = Field(default="controller", description="The controller's account and nick.")
    irc_sasl_password: SecretStr = Field(
        default=SecretStr(""),
        description="Password of that account; workers' passwords derive from it.",
    )
    irc_oper_password: SecretStr = Field(
        default=SecretStr(""), description="Password of ergo's oper block `controller`."
    )

    maintainers: Names = Field(
        default=(), description="Accounts with every right, by comma or space; empty = nobody."
    )
    max_active_total: int = Field(
        default=3,
        ge=0,
        description="Agent tasks in progress at a time, in all; 0 = none is started.",
    )
    max_active_per_requester: int = Field(
        default=5, ge=0, description="Agent tasks in progress at a time, of one requester."
    )
    command_max_age_seconds: int = Field(
        default=300,
        ge=0,
        description="Seconds after which a command that was missed is not run any more.",
    )
    continuation_seconds: float = Field(
        default=3,
        ge=0,
        description="Seconds to wait for the rest of a text that a client may have cut.",
    )
    blocked_moderated: bool = Field(
        default=True,
        description="Whether only accounts may speak in the channel of a blocked task.",
    )
    line_max_bytes: int = Field(
        default=350, ge=80, le=400, description="UTF-8 bytes of text in one line that we send."
    )
    sweep_seconds: float = Field(
        default=15, gt=0, description="Seconds between two comparisons of board and workers."
    )
    worker_start_seconds: int = Field(
        default=300,
        gt=0,
        description="Seconds within which a started worker must join its channel.",
    )
    worker_absent_seconds: int = Field(
        default=900,
        gt=0,
        description="Seconds out of its channel after which a live worker is ended.",
    )
    orphan_grace_seconds: int = Field(
        default=300,
        ge=0,
        description="Seconds from the report of a worker without a task to its end.",
    )
    firehose_args: Literal["short", "none"] = Field(
        default="short", description="Whether tool events hold the first 80 bytes of the arguments."
    )

    agent_idle_exit_seconds: int = Field(
        default=1800,
        gt=0,
        description="Seconds without being spoken to after which a worker leaves.",
    )
    agent_memory_lines: int = Field(
        default=100, ge=0, description="Lines of the channel that a new worker is given as memory."
    )
    agent_max_turns: int = Field(
        default=200, gt=0, description="Turns of one attempt without a person."
    )
    budget_usd: float = Field(
        default=10, ge=0, description="US dollars for one task; 0 = no bound."
    )
    job_active_deadline_seconds: int = Field(
        default=3600, gt=0, description="Seconds of working time of one attempt."
    )
    steer: Literal["members", "requester"] = Field(
        default="members", description="Whose line interrupts a working agent."
    )

    ready_fd: int | None = Field(
        default=None,
        ge=3,
        description="Descriptor that gets the line `ready` when the controller is up.",
    )

    @field_validator("maintainers", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return (
            tuple(n for n in re.split(r"[,\s]+", value) if n) if isinstance(value, str) else value
        )

    @property
    def agent_model(self) -> str:
        """`anthropic` or `rehearsal`: MODEL, else what the key's presence makes of it."""
        if self.model is not None:
            return self.model
        return "anthropic" if self.anthropic_api_key.get_secret_value() else "rehearsal"


def load_settings() -> Settings:
    """Read the environment. Raises SettingsError with one line per bad value."""
    try:
        settings = Settings()
    except ValidationError as error:
        lines = (_complaint(problem) for problem in error.errors(include_url=False))
        raise SettingsError("\n".join(lines)) from None
    if settings.model == "anthropic" and not settings.anthropic_api_key.get_secret_value():
        raise SettingsError(
            "MODEL=anthropic needs ANTHROPIC_API_KEY; set it, or MODEL=rehearsal to try without one"
        )
    return settings


def _complaint(problem: Mapping[str, Any]) -> str:
    name = str(problem["loc"][0]) if problem["loc"] else "settings"
    field = Settings.model_fields.get(name)
    given = "" if field is None or field.annotation is SecretStr else f"={problem['input']}"
    return f"{name.upper()}{given}: {problem['msg']}"


def environment() -> dict[str, str]:
    """All of it, for the local tools that hand it on to what they start."""
    return dict(os.environ)


def worker_surroundings() -> dict[str, str]:
    """What a local worker's environment keeps of ours."""
    return {name: os.environ[name] for name in _HANDED_ON if name in os.environ}
