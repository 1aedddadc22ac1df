"""`make run`: the whole system on this machine, kept alive until Ctrl-C, ended without a trace."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from controller.errors import ControllerError
from controller.home import Home
from controller.local.bubblewrap import bubblewrap_works
from controller.local.connect_help import connect_help
from controller.local.ending import signals_interrupt, until_signalled
from controller.local.ergo_binary import find_or_build, say_on_stderr
from controller.local.ergo_process import LOOPBACK
from controller.local.system import CONTROLLER_PROGRAM, PERSON, LocalLaunch, LocalSystem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from controller.settings import Settings

NO_SANDBOX = """\
bubblewrap (bwrap) is not usable here, so workers will refuse to start: install it, or start again
with SANDBOX=none to run their tools unprotected
"""


def run_local(
    settings: Settings,
    env: Mapping[str, str],
    controller_program: tuple[str, ...] = CONTROLLER_PROGRAM,
) -> int:
    """Exit code: 0 after a signal, else that of what is wrong, told in one line."""
    home = Home(settings.ergonaut_home.expanduser().absolute())
    try:
        home.prepare()
        with home.supervised(), signals_interrupt():
            launch = LocalLaunch(
                home=home,
                port=settings.irc_port,
                ergo_binary=find_or_build(env, say_on_stderr),
                env=env,
                maintainers=settings.maintainers,
                controller_program=controller_program,
            )
            if settings.sandbox != "none" and not bubblewrap_works():
                say(NO_SANDBOX)
            asyncio.run(_live_until_signalled(launch, settings.agent_model))
    except ControllerError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return 0
    return 0


async def _live_until_signalled(launch: LocalLaunch, model: str) -> None:
    system = LocalSystem(launch, say)
    with suppress(asyncio.CancelledError):
        async with until_signalled(system.stop):
            await _live(system, launch, model)


async def _live(system: LocalSystem, launch: LocalLaunch, model: str) -> None:
    await system.start()
    say(connect_help(LOOPBACK, launch.port, PERSON, system.credentials.you))
    say(f"workers use the {model} model; logs are in {launch.home.logs}; Ctrl-C ends everything")
    say(f"ready irc://{LOOPBACK}:{launch.port}")
    await system.keep_running()


def say(line: str) -> None:
    """One line for the person, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
