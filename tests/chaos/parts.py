"""The parts under fire: ergo, the network to it, the controller, its workers; all started anew.

Like `controller.local.system`, with the proxy in between and a supervisor that never waits long:
what is proven here is recovery, not how a crash loop is slowed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

from controller.errors import LocalError
from controller.home import Credentials, Home
from controller.local.controller_process import ControllerProcess
from controller.local.ergo_process import LOOPBACK, ErgoLaunch, ErgoProcess, free_port
from controller.local.workers import end_workers
from controller.ops.accounts import set_password
from controller.ops.oper_session import OperAddress, oper_session
from controller.spawner.locks import LockState, TaskLock
from tests.chaos.disk import Disk, small_file_system
from tests.chaos.proxy import Proxy

PROGRAM = (sys.executable, "-m", "controller", "run")
PAUSE_SECONDS = 0.2
"""The supervisor's first pause; here it does not grow."""
BOSS = "boss"
SETTINGS: Mapping[str, str] = {
    "MODEL": "rehearsal",
    "SANDBOX": "none",
    "SWEEP_SECONDS": "1",
    "CONTINUATION_SECONDS": "0.3",
    "MAX_ACTIVE_TOTAL": "12",
    "MAX_ACTIVE_PER_REQUESTER": "12",
    "MAINTAINERS": BOSS,
}


@dataclass
class Parts:
    """What can be hit."""

    home: Home
    ergo: ErgoProcess
    proxy: Proxy
    controller: ControllerProcess
    credentials: Credentials
    env: Mapping[str, str] = field(repr=False)
    disk: Disk
    """Under ergo."""
    starts: dict[str, int] = field(default_factory=dict)
    """How often each part was started again."""

    @property
    def address(self) -> OperAddress:
        """Of the server itself: people do not come through the proxy."""
        return OperAddress(LOOPBACK, self.ergo.launch.port, self.credentials.oper)

    async def add_account(self, name: str) -> str:
        """The password of a person's new account."""
        password = f"{name}-{self.credentials.you}"
        async with oper_session(self.address) as session:
            await set_password(session, name, password)
        return password

    def replacement(self) -> ControllerProcess:
        """A second controller on the same home, as another supervisor would start it."""
        home = Home(self.home.root)
        return ControllerProcess(PROGRAM, _Beside(home.root), self.env)

    async def keep_running(self) -> None:
        """Until cancelled: whatever dies is started again."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep(self.ergo))
            group.create_task(self._keep(self.controller))

    async def _keep(self, part: ErgoProcess | ControllerProcess) -> None:
        while True:
            await part.wait()
            await asyncio.sleep(PAUSE_SECONDS)
            self.starts[part.name] = self.starts.get(part.name, 0) + 1
            with suppress(LocalError):  # it died again while it started
                await part.start()

    def live_workers(self) -> dict[int, LockState]:
        """By task."""
        states = (lock.look() for lock in TaskLock.all(self.home.run))
        return {state.task: state for state in states if state.held}


class _Beside(Home):
    """The same home; the second controller has a pid file and a log of its own."""

    def pid_file(self, part: str) -> Path:
        return self.run / f"{part}-2.pid"

    def log_file(self, part: str) -> Path:
        return self.logs / f"{part}-2.log"


@asynccontextmanager
async def parts_running(
    binary: Path,
    root: Path,
    program: tuple[str, ...] = PROGRAM,
    settings: Mapping[str, str] = SETTINGS,
    *,
    small_disk: bool = False,
) -> AsyncIterator[Parts]:
    """All of them up, on private ports below `root`; ended with everything that they started."""
    home = Home(root)
    home.prepare()
    with small_file_system(home.ergo) if small_disk else nullcontext():
        async with _running(binary, home, program, settings) as parts:
            yield parts


@asynccontextmanager
async def _running(
    binary: Path, home: Home, program: tuple[str, ...], settings: Mapping[str, str]
) -> AsyncIterator[Parts]:
    credentials = home.credentials_or_new()
    ergo = ErgoProcess(ErgoLaunch(binary, home, free_port(), credentials.oper))
    proxy = Proxy(LOOPBACK, free_port(), ergo.launch.port)
    env = _environment(home, proxy.port, credentials) | dict(settings)
    controller = ControllerProcess(program, home, env)
    parts = Parts(home, ergo, proxy, controller, credentials, env, Disk(home.ergo))
    try:
        await ergo.start()
        async with proxy.running():
            async with oper_session(parts.address) as session:
                await set_password(session, "controller", credentials.controller)
            await controller.start()
            yield parts
    finally:
        _wake((controller.pid, ergo.pid, *_pids(parts)))
        await controller.stop()
        await end_workers(home.run)
        await ergo.stop()


def _environment(home: Home, port: int, credentials: Credentials) -> dict[str, str]:
    bare = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG")}
    return {
        **bare,
        "ERGONAUT_HOME": str(home.root),
        "IRC_HOST": LOOPBACK,
        "IRC_PORT": str(port),
        "IRC_TLS": "false",
        "IRC_NICK": "controller",
        "IRC_SASL_PASSWORD": credentials.controller,
        "IRC_OPER_PASSWORD": credentials.oper,
    }


def _pids(parts: Parts) -> list[int]:
    return [state.pid for state in parts.live_workers().values() if state.pid is not None]


def _wake(pids: tuple[int, ...]) -> None:
    """A stopped process cannot end in order."""
    for pid in pids:
        if pid:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
