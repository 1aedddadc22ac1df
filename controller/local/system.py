"""The parts of a local run as one thing: ergo, the controller, and the workers that it starts."""

from __future__ import annotations

import asyncio
import fcntl
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from controller.local.controller_process import ControllerProcess
from controller.local.ergo_process import LOOPBACK, ErgoLaunch, ErgoProcess
from controller.local.keeper import keep
from controller.local.workers import end_workers
from controller.ops.accounts import set_password
from controller.ops.oper_session import OperAddress, OperError, oper_session
from shared.channels import TASKS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from controller.home import Home

CONTROLLER = "controller"
PERSON = "you"
CONTROLLER_PROGRAM = (sys.executable, "-m", "controller", "run")
PREDECESSOR_SECONDS = 5.0


@dataclass(frozen=True)
class LocalLaunch:
    """What a local run is made of."""

    home: Home
    """Prepared, and held by this process (`Home.supervised`)."""
    port: int
    """Of ergo, on the loopback address."""
    ergo_binary: Path
    env: Mapping[str, str] = field(repr=False)
    """The settings for the controller, as the person gave them."""
    maintainers: tuple[str, ...] = ()
    """Besides `you`."""
    controller_program: tuple[str, ...] = CONTROLLER_PROGRAM


class LocalSystem:
    """Start it, keep it running, stop it; `stop` is due after every `start`, failed ones too."""

    def __init__(self, launch: LocalLaunch, say: Callable[[str], None]) -> None:
        self._launch = launch
        self._say = say
        self.credentials = launch.home.credentials_or_new()
        self.ergo = ErgoProcess(
            ErgoLaunch(launch.ergo_binary, launch.home, launch.port, self.credentials.oper)
        )
        self.controller = ControllerProcess(
            launch.controller_program, launch.home, self._controller_env()
        )

    async def start(self) -> None:
        """Return once all of it works; ControllerError in one line when it cannot."""
        await _until_predecessor_is_gone(self._launch.home)
        await self.ergo.start()
        await self._make_accounts()
        await self.controller.start()

    async def keep_running(self) -> NoReturn:
        """Start again whatever dies."""
        async with asyncio.TaskGroup() as group:
            group.create_task(keep(self.ergo, self._say, self._tell_tasks))
            group.create_task(keep(self.controller, self._say, self._tell_tasks))
        raise AssertionError("a keeper never returns")

    async def stop(self) -> None:
        """Within 10 s: who would start workers, then the workers, last what they talk over."""
        await self.controller.stop()
        await end_workers(self._launch.home.run)
        await self.ergo.stop()

    async def _tell_tasks(self, text: str) -> bool:
        """Whoever reads #tasks need not see the terminal; False while ergo is away too."""
        try:
            async with oper_session(self._address) as session:
                await session.say(TASKS, text)
        except OperError:
            return False
        return True

    @property
    def _address(self) -> OperAddress:
        return OperAddress(LOOPBACK, self._launch.port, self.credentials.oper)

    async def _make_accounts(self) -> None:
        async with oper_session(self._address) as session:
            await set_password(session, CONTROLLER, self.credentials.controller)
            await set_password(session, PERSON, self.credentials.you)

    def _controller_env(self) -> dict[str, str]:
        launch = self._launch
        return {
            **launch.env,
            "ERGONAUT_HOME": str(launch.home.root),
            "IRC_HOST": LOOPBACK,
            "IRC_PORT": str(launch.port),
            "IRC_TLS": "false",
            "IRC_NICK": CONTROLLER,
            "IRC_SASL_PASSWORD": self.credentials.controller,
            "IRC_OPER_PASSWORD": self.credentials.oper,
            "MAINTAINERS": ",".join(dict.fromkeys((PERSON, *launch.maintainers))),
        }


async def _until_predecessor_is_gone(home: Home) -> None:
    """The ergo of a killed supervisor ends by itself, a moment later: wait for its lock."""
    lock = home.ergo / "ircd.lock"
    with suppress(TimeoutError):  # then ergo itself says what is wrong
        async with asyncio.timeout(PREDECESSOR_SECONDS):
            while lock.exists() and _is_held(lock):  # noqa: ASYNC110  (a lock has no event)
                await asyncio.sleep(0.02)


def _is_held(lock: Path) -> bool:
    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False
