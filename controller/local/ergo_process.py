"""A private ergo: configured, started, waited for, ended by pid; for local runs and tests alike."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from controller.errors import LocalError
from controller.home import write_atomically
from controller.local.child import Child, ChildSpec, last_line
from controller.local.ergo_command import ErgoCommand, explain
from controller.local.ergo_config import ErgoSettings, render

if TYPE_CHECKING:
    from pathlib import Path

    from controller.home import Home

LOOPBACK = "127.0.0.1"
START_SECONDS = 20
STOP_SECONDS = 4
CONFIG_NAME = "ircd.yaml"


@dataclass(frozen=True)
class ErgoLaunch:
    """Where and how to run one server."""

    binary: Path
    home: Home
    """Prepared; data in `ergo/`, log in `logs/ergo.log`, pid in `run/ergo.pid`."""
    port: int
    oper_password: str = field(repr=False)
    host: str = LOOPBACK


class ErgoProcess:
    """One server process that can be started again on the same data."""

    name = "ergo"

    def __init__(self, launch: ErgoLaunch) -> None:
        self.launch = launch
        home = launch.home
        self.child = Child(
            ChildSpec(
                name=self.name,
                argv=(str(launch.binary), "run", "--conf", CONFIG_NAME),
                folder=home.ergo,
                log=home.log_file(self.name),
                pid_file=home.pid_file(self.name),
                env={},  # ERGO__SECTION__KEY would override the configuration from outside
            )
        )

    @property
    def pid(self) -> int:
        """Of the last start."""
        return self.child.pid

    @property
    def running(self) -> bool:
        """It was started and has not ended."""
        return self.child.running

    async def start(self) -> None:
        """Return once it listens; else LocalError with the cause, and nothing left running."""
        await asyncio.to_thread(self._write_config)
        require_free_port(self.launch.host, self.launch.port)
        self.launch.home.remember_port(self.launch.port)
        self.child.start()
        try:
            await self._until_listening()
        except BaseException:
            await self.child.kill()
            raise

    async def stop(self) -> None:
        """An orderly end; at once when it has ended already."""
        await self.child.stop(STOP_SECONDS)

    async def kill(self) -> None:
        """The end of a server that crashes."""
        await self.child.kill()

    async def wait(self) -> int:
        """Its exit status, once it has ended."""
        return await self.child.wait()

    def last_words(self) -> str:
        """The line of its log that tells why it ended."""
        return last_line(self.child.output())

    @property
    def _address(self) -> str:
        return f"{self.launch.host}:{self.launch.port}"

    def _write_config(self) -> None:
        command = ErgoCommand(self.launch.binary)
        settings = ErgoSettings(
            oper_hash=command.hash_password(self.launch.oper_password), listeners=(self._address,)
        )
        text = render(command.default_config(), settings)
        write_atomically(self.launch.home.ergo / CONFIG_NAME, text)

    async def _until_listening(self) -> None:
        try:
            async with asyncio.timeout(START_SECONDS):
                while not await _answers(self.launch.host, self.launch.port):
                    if not self.child.running:
                        raise LocalError(explain(self.launch.binary, self.child.output()))
                    await asyncio.sleep(0.01)
        except TimeoutError as error:
            raise LocalError(
                f"ergo does not listen on {self._address} after {START_SECONDS} s; "
                f"see {self.child.spec.log}"
            ) from error


async def _answers(host: str, port: int) -> bool:
    with contextlib.suppress(OSError):
        _, writer = await asyncio.open_connection(host, port)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        return True
    return False


def require_free_port(host: str, port: int) -> None:
    """LocalError unless we could listen there: a stranger on it would look like our server."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise LocalError(
                    f"cannot listen on {host}:{port} ({error.strerror}); set another IRC_PORT"
                ) from error
            raise LocalError(
                f"port {port} on {host} is taken; set IRC_PORT to another one"
            ) from error


def free_port(host: str = LOOPBACK) -> int:
    """A port that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port
