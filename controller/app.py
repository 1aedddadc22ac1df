"""The composition root of `agent-controller run`: wiring, signals, exit codes, and nothing else."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
import time
from contextlib import suppress
from importlib.metadata import version
from itertools import count
from pathlib import Path

from pydantic import SecretStr

from controller.bot import Bot, leaves
from controller.connection import Office
from controller.errors import ControllerError, SettingsError, StartRefused
from controller.limits import CoreSettings
from controller.settings import Settings, worker_surroundings
from controller.spawner.local import LocalSpawner, LocalWorkers
from shared.directives import PROTOCOL
from shared.irc_client import ClientConfig, IrcClient, LoginRefused
from shared.logs import set_up_logging
from shared.worker_env import WorkerEnv

_ENDING = (signal.SIGINT, signal.SIGTERM)


def run(settings: Settings) -> None:
    """Until SIGINT or SIGTERM. Raises ControllerError."""
    _require_secrets(settings)
    set_up_logging(secrets=_secrets(settings))
    home = settings.ergonaut_home.expanduser().absolute()
    _require_writable(home)
    try:
        asyncio.run(_run(settings, home))
    except ExceptionGroup as group:
        for error in leaves(group):
            if isinstance(error, ControllerError):
                raise error from None
            if isinstance(error, LoginRefused):
                hint = "; check IRC_NICK and IRC_SASL_PASSWORD" if error.code == "904" else ""
                raise StartRefused(f"{error}{hint}") from None
        raise


async def _run(settings: Settings, home: Path) -> None:
    client = IrcClient(_client_config(settings))
    spawner = LocalSpawner(LocalWorkers(home, worker_surroundings()))
    office = Office(
        client=client,
        spawner=spawner,
        core=core_settings(settings),
        sweep_seconds=settings.sweep_seconds,
        secret=settings.irc_sasl_password.get_secret_value(),
        oper_password=settings.irc_oper_password.get_secret_value(),
        anthropic_api_key=settings.anthropic_api_key.get_secret_value(),
        clock=time.time,
        event_ids=count(1),
    )
    ended = asyncio.Event()
    for number in _ENDING:
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(client.run())
            serving = group.create_task(Bot(office, Readiness(settings.ready_fd).tell).run())
            await ended.wait()
            serving.cancel()
            await client.close("the controller was stopped")
    finally:
        spawner.close()


class Readiness:
    """Tells a supervisor, once, that we are up."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    def tell(self) -> None:
        """Write `ready` and close the descriptor."""
        if self._descriptor is not None:
            with suppress(OSError):  # nobody listens any more
                os.write(self._descriptor, b"ready\n")
                os.close(self._descriptor)
            self._descriptor = None


def _require_secrets(settings: Settings) -> None:
    missing = [
        name
        for name in ("irc_sasl_password", "irc_oper_password")
        if not getattr(settings, name).get_secret_value()
    ]
    if missing:
        lines = (f"{name.upper()} is not set; the controller cannot log in" for name in missing)
        raise SettingsError("\n".join(lines))


def _require_writable(home: Path) -> None:
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=home):
            pass
    except OSError as error:
        raise StartRefused(
            f"ERGONAUT_HOME={home} cannot be written ({error.strerror}); name another folder"
        ) from error


def _secrets(settings: Settings) -> list[str]:
    values = (getattr(settings, name) for name in type(settings).model_fields)
    return [value.get_secret_value() for value in values if isinstance(value, SecretStr)]


def _client_config(settings: Settings) -> ClientConfig:
    return ClientConfig(
        host=settings.irc_host,
        port=settings.irc_port,
        nick=settings.irc_nick,
        realname="Ergonaut controller",
        tls=settings.irc_tls,
        account=settings.irc_nick,
        password=settings.irc_sasl_password.get_secret_value(),
        bot=True,
    )


def core_settings(settings: Settings) -> CoreSettings:
    """What the core sees of them."""
    return CoreSettings(
        account=settings.irc_nick,
        maintainers=settings.maintainers,
        worker=_worker_template(settings),
        version=version("ergonaut"),
        max_active_total=settings.max_active_total,
        max_active_per_requester=settings.max_active_per_requester,
        command_max_age_seconds=settings.command_max_age_seconds,
        continuation_seconds=settings.continuation_seconds,
        line_max_bytes=settings.line_max_bytes,
        blocked_moderated=settings.blocked_moderated,
        worker_start_seconds=settings.worker_start_seconds,
        worker_absent_seconds=settings.worker_absent_seconds,
        orphan_grace_seconds=settings.orphan_grace_seconds,
        firehose_args=settings.firehose_args,
    )


def _worker_template(settings: Settings) -> WorkerEnv:
    return WorkerEnv(
        task_id=0,
        task_channel="",
        attempt=0,
        protocol=PROTOCOL,
        workspace="",
        state="",
        model=settings.agent_model,
        worker_model=settings.worker_model,
        anthropic_base_url=settings.anthropic_base_url,
        sandbox=settings.sandbox,
        irc_host=settings.irc_host,
        irc_port=settings.irc_port,
        irc_tls=settings.irc_tls,
        irc_account="",
        controller_account=settings.irc_nick,
        agent_idle_exit_seconds=settings.agent_idle_exit_seconds,
        agent_memory_lines=settings.agent_memory_lines,
        agent_max_turns=settings.agent_max_turns,
        budget_usd=settings.budget_usd,
        job_active_deadline_seconds=settings.job_active_deadline_seconds,
        requester="",
        maintainers=settings.maintainers,
        steer=settings.steer,
        line_max_bytes=settings.line_max_bytes,
    )
