"""The real controller as a process, for tests: started until it is ready, ended by pid."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from controller.home import Home
from controller.local.controller_process import ControllerProcess
from tests.support.ergo_server import ErgoServer
from tests.support.irc_peer import Peer, on_irc

PROGRAM = (sys.executable, "-m", "controller", "run")


@dataclass
class Network:
    """One private ergo with the accounts of a test."""

    ergo: ErgoServer
    controller_password: str
    passwords: dict[str, str] = field(default_factory=dict)

    def env(self, home: Path, **more: str) -> Mapping[str, str]:
        """The complete environment of a controller."""
        return {
            "PATH": os.environ["PATH"],
            "ERGONAUT_HOME": str(home),
            "IRC_HOST": self.ergo.host,
            "IRC_PORT": str(self.ergo.port),
            "IRC_SASL_PASSWORD": self.controller_password,
            "IRC_OPER_PASSWORD": self.ergo.oper_password,
            "MODEL": "rehearsal",
            "SANDBOX": "none",
            "MAX_ACTIVE_TOTAL": "0",
            "MAINTAINERS": "boss",
            **more,
        }

    @asynccontextmanager
    async def person(self, name: str) -> AsyncIterator[Peer]:
        """Logged in, in #tasks."""
        if name not in self.passwords:
            self.passwords[name] = await self.ergo.add_account(name)
        async with on_irc(self.ergo, name, self.passwords[name]) as peer:
            await peer.ask("JOIN", "#tasks")
            yield peer


async def make_network(ergo: ErgoServer) -> Network:
    return Network(ergo, await ergo.add_account("controller"))


class ControllerRun:
    """One controller; `start` raises LocalError with its last line."""

    def __init__(self, network: Network, folder: Path, **more: str) -> None:
        home = Home(folder)
        home.prepare()
        self.log = home.log_file("controller")
        self._process = ControllerProcess(PROGRAM, home, network.env(folder, **more))

    async def start(self) -> None:
        await self._process.start()

    async def stop(self) -> None:
        await self._process.stop()

    async def exit_code(self) -> int:
        return await self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        os.kill(self._process.pid, number)
