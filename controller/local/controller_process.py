"""The controller as a part of a local run: started with its settings, and waited for."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from controller.errors import LocalError
from controller.local.child import Child, ChildSpec, last_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from controller.home import Home

READY_LINE = b"ready\n"
READY_SECONDS = 60
STOP_SECONDS = 3.0


class ControllerProcess:
    """One process that can be started again; it says `ready` on the descriptor READY_FD."""

    name = "controller"

    def __init__(self, argv: tuple[str, ...], home: Home, env: Mapping[str, str]) -> None:
        self._argv = argv
        self._home = home
        self._env = env
        self._child: Child | None = None

    @property
    def pid(self) -> int:
        """Of the last start; 0 before the first."""
        return self._child.pid if self._child else 0

    @property
    def running(self) -> bool:
        """It was started and has not ended."""
        return self._child is not None and self._child.running

    async def start(self) -> None:
        """Return once it is ready; else LocalError with its last line, and nothing left running."""
        reader, writer = os.pipe()
        child = self._child = Child(self._spec(writer))
        try:
            child.start()
        except LocalError:
            os.close(reader)
            raise
        finally:
            os.close(writer)
        try:
            await self._until_ready(child, reader)
        except BaseException:
            await child.stop(STOP_SECONDS)
            raise

    async def stop(self) -> None:
        """An orderly end; at once when it has ended already."""
        if self._child is not None:
            await self._child.stop(STOP_SECONDS)

    async def wait(self) -> int:
        """Its exit status, once it has ended."""
        if self._child is None:
            raise LocalError("the controller was not started")
        return await self._child.wait()

    def last_words(self) -> str:
        """The last line that it logged since its start."""
        return last_line(self._child.output()) if self._child else ""

    def _spec(self, ready_fd: int) -> ChildSpec:
        return ChildSpec(
            name=self.name,
            argv=self._argv,
            folder=Path.cwd(),  # the settings may hold relative paths
            log=self._home.log_file(self.name),
            pid_file=self._home.pid_file(self.name),
            env={**self._env, "READY_FD": str(ready_fd)},
            inherited=(ready_fd,),
        )

    async def _until_ready(self, child: Child, descriptor: int) -> None:
        loop = asyncio.get_running_loop()
        stream = asyncio.StreamReader()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(descriptor, "rb")
        )
        try:
            async with asyncio.timeout(READY_SECONDS):
                line = await stream.readline()
        except TimeoutError as error:
            raise LocalError(
                f"the controller is not ready after {READY_SECONDS} s; see {child.spec.log}"
            ) from error
        finally:
            transport.close()
        if line != READY_LINE:
            await child.stop(STOP_SECONDS)
            raise LocalError(self.last_words() or f"the controller ended; see {child.spec.log}")
