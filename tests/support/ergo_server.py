"""A real ergo for tests: private folder, free port, ended by pid."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from controller.errors import LocalError
from controller.home import Home, new_password
from controller.local.ergo_process import ErgoLaunch, ErgoProcess, free_port
from controller.ops.oper_session import OPER_NAME, OperAddress, oper_session

if TYPE_CHECKING:
    from pathlib import Path

PORT_TRIES = 3


@dataclass
class ErgoServer:
    """One server; only a test that has it to itself (`private_ergo`) may stop and start it."""

    process: ErgoProcess
    oper_name: str = OPER_NAME

    @property
    def host(self) -> str:
        return self.process.launch.host

    @property
    def port(self) -> int:
        return self.process.launch.port

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def home(self) -> Home:
        return self.process.launch.home

    @property
    def oper_password(self) -> str:
        return self.process.launch.oper_password

    @property
    def address(self) -> OperAddress:
        return OperAddress(self.host, self.port, self.oper_password)

    async def add_account(self, name: str) -> str:
        """Register an account and return its password."""
        password = new_password()
        async with oper_session(self.address) as session:
            lines = await session.nickserv("SAREGISTER", name, password)
        assert any(line.startswith("Successfully registered") for line in lines), lines
        return password

    async def start(self) -> None:
        """On the same data and port."""
        await self.process.start()

    async def stop(self) -> None:
        """As an operator stops it."""
        await self.process.stop()

    async def kill(self) -> None:
        """As a crash ends it."""
        await self.process.kill()


async def start_ergo(binary: Path, root: Path) -> ErgoServer:
    """A fresh server below `root`; another port is tried when somebody was faster."""
    home = Home(root)
    home.prepare()
    launch = ErgoLaunch(binary, home, free_port(), new_password())
    for _ in range(PORT_TRIES - 1):
        try:
            return await _started(launch)
        except LocalError as error:
            if "taken" not in str(error):
                raise
        launch = replace(launch, port=free_port())
    return await _started(launch)


async def _started(launch: ErgoLaunch) -> ErgoServer:
    process = ErgoProcess(launch)
    await process.start()
    return ErgoServer(process)
