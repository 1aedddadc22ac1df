"""The one source of ergo's configuration: its own default file plus the changes of one table.

Local runs, tests and deployments all come from here. The table carries its reasons, so that
documents can be generated from it. ergo ignores unknown keys in silence; `render` therefore refuses
a path that the default lacks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from controller.errors import LocalError

OPER_NAME = "controller"
OPER_CAPABILITIES = (
    "nofakelag",
    "chanreg",
    "metadata",
    "samode",
    "sajoin",
    "accreg",
    "history",
    "kill",
)


@dataclass(frozen=True)
class Change:
    """One key that differs from ergo's default."""

    path: str
    """Keys from the top, joined by dots."""
    value: object
    why: str


@dataclass(frozen=True)
class ErgoSettings:
    """What differs from one server to the next."""

    oper_hash: str
    """bcrypt hash of the password of the oper block `controller`."""
    listeners: tuple[str, ...] = ("127.0.0.1:6667",)
    """Plaintext addresses, `host:port`; `:6667` is every address."""
    server_name: str = "irc.ergonaut.local"
    network: str = "Ergonaut"
    trusted_networks: tuple[str, ...] = ()
    """CIDR networks that, like localhost, have no connection limits: pods share few addresses."""


CHANGES: tuple[Change, ...] = (
    Change("server.max-sendq", "16M", "answers of thousands of lines must not drop the reader"),
    Change("server.relaymsg.enabled", False, "channel operators could speak under made-up nicks"),
    Change("accounts.registration.enabled", False, "accounts are made by the operator only"),
    Change("accounts.multiclient.always-on", "disabled", "presence must mean a live connection"),
    Change("channels.operator-only-creation", True, "nobody squats the name of a coming task"),
    Change(
        "channels.max-channels-per-client", 100_000, "the controller sits in every task channel"
    ),
    Change("channels.registration.operator-only", True, "task channels belong to the controller"),
    Change(
        "channels.registration.max-channels-per-account",
        100_000,
        "one account registers every task channel",
    ),
    Change(
        "metadata.operator-only-modification",
        True,
        "only the controller writes state, and bursts of writes can crash the server",
    ),
    Change(
        "oper-classes.controller",
        {"title": "Controller", "capabilities": list(OPER_CAPABILITIES)},
        "the rights that the controller needs and no more",
    ),
    Change("fakelag.enabled", True, "a flood by one client must not reach the others"),
    Change("fakelag.window", "1s", "unit of messages-per-window"),
    Change("fakelag.burst-limit", 20, "workers talk in bursts and have no operator rights"),
    Change("fakelag.messages-per-window", 10, "a worker's narration must not lag behind its work"),
    Change("fakelag.cooldown", "2s", "after this silence a full burst is allowed again"),
    Change("languages.enabled", False, "no language files lie beside the server"),
    Change("datastore.path", "ircd.db", "accounts, channels, topics and metadata"),
    Change("datastore.autoupgrade", True, "a newer server takes an older database over by itself"),
    Change("datastore.sqlite.enabled", True, "conversations must survive a restart"),
    Change("datastore.sqlite.database-path", "history.db", "without it the file has an odd name"),
    Change("datastore.sqlite.busy-timeout", "5s", "wait for a reader of the file, do not fail"),
    Change("datastore.sqlite.max-conns", 1, "sqlite has one writer"),
    Change("history.restrictions.expire-time", "365d", "a task may rest for months"),
    Change("history.restrictions.query-cutoff", "none", "who joins a task reads all of it"),
    Change("history.persistent.enabled", True, "history is the memory of the system"),
    Change("history.persistent.registered-channels", "mandatory", "no channel opts out of it"),
    Change("history.persistent.unregistered-channels", False, "they hold nothing of ours"),
    Change(
        "history.persistent.direct-messages", "mandatory", "directives are read back after a loss"
    ),
    Change("api.enabled", False, "nothing uses the HTTP interface"),
)

# The pure Python loader takes a tenth of a second, which every start of a server would pay.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# Keys below these are names of our choice; everywhere else the default file must know the key.
_FREE_SECTIONS = ("oper-classes",)


def render(default_config: str, settings: ErgoSettings) -> str:
    """The complete configuration file: the binary's own default with our changes."""
    config = yaml.load(default_config, Loader=_Loader)
    for change in (*_changes_of(settings), *CHANGES):
        _apply(config, change)
    return yaml.safe_dump(config, sort_keys=False, allow_unicode=True)


def _changes_of(settings: ErgoSettings) -> tuple[Change, ...]:
    oper = {"class": OPER_NAME, "hidden": True, "password": settings.oper_hash}
    exempted = ["localhost", *settings.trusted_networks]
    return (
        Change("network.name", settings.network, "clients show it"),
        Change("server.name", settings.server_name, "the source of the server's own lines"),
        Change(
            "server.listeners", {address: {} for address in settings.listeners}, "where to listen"
        ),
        Change("server.ip-limits.exempted", exempted, "many workers share one address"),
        Change(
            "opers", {OPER_NAME: oper}, "replaces the default admin, whose hash is a placeholder"
        ),
    )


def _apply(config: dict[str, Any], change: Change) -> None:
    *parents, key = change.path.split(".")
    section: Any = config
    for parent in parents:
        section = section.get(parent) if isinstance(section, dict) else None
    known = isinstance(section, dict) and (key in section or ".".join(parents) in _FREE_SECTIONS)
    if not known:
        raise LocalError(
            f"ergo's default configuration has no {change.path}; ergo 2.18.0 or newer is needed"
        )
    section[key] = change.value
