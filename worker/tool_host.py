"""The worker's side of the tool host: starts it, calls its tools, ends it with all it started.

No call ever hangs: a host that dies answers every open call with an error at once, and so does
every later call.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shutil
from collections.abc import Callable, Mapping

from worker.errors import WorkerError
from worker.host_link import HostLink
from worker.sandbox import HostLaunch
from worker.tools import Tool, ToolContext, ToolResult, ToolSpec, bash, edit, read
from worker.tools import write as write_tool
from worker.tools.children import end_marked
from worker.tools.environment import MARKER, scratch_folder

_START_SECONDS = 15.0
_SWEEP_SECONDS = 5.0
_SPECS = (read.SPEC, write_tool.SPEC, edit.SPEC, bash.SPEC)


class ToolHostError(WorkerError):
    """The host did not start; the text says why."""


class ToolHost:
    """One host process and its tools. Made by `start`."""

    def __init__(self, link: HostLink, marker: str) -> None:
        self._link = link
        self._marker = marker
        self.tools: tuple[Tool, ...] = tuple(_RemoteTool(spec, link) for spec in _SPECS)

    @classmethod
    async def start(cls, launch: HostLaunch, redact: Callable[[str], str] = str) -> ToolHost:
        """Start and wait until it takes calls; what it says passes through `redact`."""
        marker = secrets.token_hex(8)
        link = HostLink(redact)
        try:
            await asyncio.get_running_loop().subprocess_exec(
                lambda: link,
                *launch.argv,
                env={**launch.environment, MARKER: marker},
                cwd=launch.working_directory,
                start_new_session=True,
            )
        except OSError as error:
            raise ToolHostError(f"the tool host did not start: {error}") from error
        host = cls(link, marker)
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_START_SECONDS):
                    await link.ready.wait()
        finally:
            # not ready, or the start was cancelled: leave no process behind
            if not link.is_alive:
                await host.close()
        if link.is_alive:
            return host
        raise ToolHostError(f"the tool host did not start: {link.last_words}")

    @property
    def is_alive(self) -> bool:
        """Calls can still succeed."""
        return self._link.is_alive

    async def sweep(self) -> bool:
        """End what earlier calls left in the background; False if that is not certain."""
        return await self._link.sweep()

    async def close(self) -> None:
        """End the host and everything its tools started; bounded, and safe to repeat."""
        if not await self._link.end():
            await asyncio.to_thread(_sweep, self._marker)


def _sweep(marker: str) -> None:
    """What a host would have done at its end, had it not been killed."""
    end_marked(marker, _SWEEP_SECONDS)
    shutil.rmtree(scratch_folder(marker), ignore_errors=True)


class _RemoteTool:
    """A tool whose work is done in the host."""

    def __init__(self, spec: ToolSpec, link: HostLink) -> None:
        self.spec = spec
        self._link = link

    async def run(self, args: Mapping[str, object], context: ToolContext) -> ToolResult:
        return await self._link.call(self.spec.name, args, context)
