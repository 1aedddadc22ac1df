"""`make run`: the whole system on this machine, kept alive until Ctrl-C, ended without a trace."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

from controller.errors import ControllerError
from controller.local.connect_help import connect_help
from controller.local.ergo_binary import find_or_build, say_on_stderr
from controller.local.ergo_process import LOOPBACK
from controller.local.home import Home
from controller.local.system import CONTROLLER_PROGRAM, PERSON, LocalLaunch, LocalSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from controller.settings import Settings

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_local(
    settings: Settings,
    env: Mapping[str, str],
    controller_program: tuple[str, ...] = CONTROLLER_PROGRAM,
) -> int:
    """Exit code: 0 after a signal, else that of what is wrong, told in one line."""
    home = Home(settings.ergonaut_home.expanduser().absolute())
    try:
        home.prepare()
        with home.supervised(), _signals_interrupt():
            launch = LocalLaunch(
                home=home,
                port=settings.irc_port,
                ergo_binary=find_or_build(env, say_on_stderr),
                env=env,
                maintainers=settings.maintainers,
                controller_program=controller_program,
            )
            asyncio.run(_until_signalled(launch, settings.agent_model))
    except ControllerError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return 0
    return 0


@contextmanager
def _signals_interrupt() -> Iterator[None]:
    """While a binary is built: any ending signal acts like Ctrl-C, which ends what builds it."""

    def interrupt(_number: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


async def _until_signalled(launch: LocalLaunch, model: str) -> None:
    task = asyncio.current_task()
    assert task is not None
    _on_signal(task.cancel)
    system = LocalSystem(launch, say)
    with suppress(asyncio.CancelledError):
        try:
            await _live(system, launch, model)
        finally:
            _on_signal(_wait_for_the_end)
            await system.stop()


def _on_signal(act: Callable[[], object]) -> None:
    loop = asyncio.get_running_loop()
    for number in _ENDING:
        loop.add_signal_handler(number, act)


def _wait_for_the_end() -> None:
    """A second Ctrl-C must not leave parts behind."""


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
