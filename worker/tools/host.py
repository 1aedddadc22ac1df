"""The process in which tools run: `python -I -m worker.tools.host WORKSPACE`.

One per attempt, inside the sandbox. It ends when its standard input does, so also when the worker
is killed, and takes everything along that its tools started.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from worker.tools import Tool, ToolContext, ToolError, ToolResult, wire
from worker.tools.bash import BashSite, BashTool
from worker.tools.children import Children, end_all
from worker.tools.edit import EditTool
from worker.tools.environment import MARKER, scratch_folder
from worker.tools.files import FileLocks
from worker.tools.prctl import give_up_ptrace, set_child_subreaper, set_undumpable
from worker.tools.read import ReadTool
from worker.tools.spill import SpillFolder
from worker.tools.write import WriteTool

_END_SECONDS = 3.0
_SWEEP_SECONDS = 1.5


class Host:
    """Runs calls side by side and answers each by its id."""

    def __init__(
        self, tools: Mapping[str, Tool], children: Children, answer: Callable[[bytes], None]
    ) -> None:
        self._tools = tools
        self._children = children
        self._answer = answer
        self._running: dict[str, asyncio.Event] = {}

    async def serve(self, requests: asyncio.StreamReader) -> None:
        """Until the requests end; then every call is aborted and awaited."""
        self._answer(wire.encode_answer(wire.Ready()))
        async with asyncio.TaskGroup() as group:
            while line := await requests.readline():
                match wire.decode_request(line):
                    case wire.Abort(call_id):
                        if call_id in self._running:
                            self._running[call_id].set()
                    case wire.Sweep(sweep_id):
                        group.create_task(self._sweep(sweep_id))
                    case wire.Request() as request:
                        self._running[request.id] = asyncio.Event()
                        group.create_task(self._call(request))
            for aborted in self._running.values():
                aborted.set()

    async def _call(self, request: wire.Request) -> None:
        def update(text: str) -> None:
            self._answer(wire.encode_answer(wire.Update(request.id, text)))

        context = ToolContext(request.id, self._running[request.id], update)
        try:
            result = await self._tools[request.tool].run(request.args, context)
        except ToolError as error:
            result = ToolResult(str(error), is_error=True)
        except Exception as error:
            # a fault in one tool must not take the other calls along
            fault = f"{request.tool} failed: {type(error).__name__}: {error}"
            result = ToolResult(fault, is_error=True)
        del self._running[request.id]
        self._answer(wire.encode_answer(wire.Result(request.id, result)))

    async def _sweep(self, sweep_id: str) -> None:
        is_clean = await asyncio.to_thread(self._children.end_orphans, _SWEEP_SECONDS)
        text = "" if is_clean else "processes of earlier calls could not be ended"
        result = ToolResult(text, is_error=not is_clean)
        self._answer(wire.encode_answer(wire.Result(sweep_id, result)))


def make_tools(workspace: Path, scratch: Path, children: Children) -> dict[str, Tool]:
    """The four tools by name; `write` and `edit` share their locks."""
    locks = FileLocks()
    spills = scratch / "output"
    spills.mkdir(mode=0o700)
    tools: tuple[Tool, ...] = (
        ReadTool(workspace),
        WriteTool(workspace, locks),
        EditTool(workspace, locks),
        BashTool(BashSite(workspace, SpillFolder(spills), children)),
    )
    return {tool.spec.name: tool for tool in tools}


def main(argv: list[str]) -> int:
    """Serve until standard input ends, then leave nothing behind."""
    set_undumpable()
    give_up_ptrace()
    set_child_subreaper()
    scratch = scratch_folder(os.environ[MARKER])
    scratch.mkdir(mode=0o700)
    try:
        _live_in(scratch)
        asyncio.run(_serve(Path(argv[1]), scratch))
    finally:
        is_clean = end_all(_END_SECONDS)
        shutil.rmtree(scratch, ignore_errors=True)
    return 0 if is_clean else 1


def _live_in(scratch: Path) -> None:
    """Tools get a home and a place for temporary files that end with the attempt."""
    for variable, name in (("HOME", "home"), ("TMPDIR", "tmp")):
        (scratch / name).mkdir()
        os.environ[variable] = str(scratch / name)


async def _serve(workspace: Path, scratch: Path) -> None:
    loop = asyncio.get_running_loop()
    requests = asyncio.StreamReader(limit=wire.MAX_LINE_BYTES)
    source, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(requests), os.fdopen(_take(0, os.O_RDONLY), "rb", 0)
    )
    sink, _ = await loop.connect_write_pipe(
        asyncio.Protocol, os.fdopen(_take(1, os.O_WRONLY), "wb", 0)
    )
    children = Children()
    loop.add_signal_handler(signal.SIGCHLD, children.reap_orphans)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, source.close)
    tools = make_tools(workspace, scratch, children)
    await Host(tools, children, sink.write).serve(requests)
    sink.close()
    source.close()


def _take(descriptor: int, flags: int) -> int:
    """Move a standard stream away, so that nothing but the protocol can ever use it."""
    moved = os.dup(descriptor)
    nothing = os.open(os.devnull, flags)
    os.dup2(nothing, descriptor)
    os.close(nothing)
    return moved


if __name__ == "__main__":
    sys.exit(main(sys.argv))
