"""The lines between the worker and one tool host, and what becomes of calls when it dies.

Whatever the host does, every call gets an answer: its result, or at the host's end an error.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from worker.tools import ToolContext, ToolError, ToolResult, wire

_ABORT_SECONDS = 10.0
_CLOSE_SECONDS = 8.0
_SWEEP_SECONDS = 3.0
_STDERR_BYTES = 4 * 1024
_DEAD = ToolResult("the tool host has died; nothing can be run in this attempt", is_error=True)


@dataclass(frozen=True, slots=True)
class _Call:
    answer: asyncio.Future[ToolResult]
    on_update: Callable[[str], None]


class HostLink(asyncio.SubprocessProtocol):
    """The lines to and from one host."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._calls: dict[str, _Call] = {}
        self._numbers = itertools.count(1)
        self._partial = bytearray()
        self._stderr = bytearray()
        self._exited = asyncio.Event()
        self._released = asyncio.Event()
        self._transport: asyncio.SubprocessTransport
        self.ready = asyncio.Event()
        self.is_alive = False

    @property
    def last_words(self) -> str:
        """What the host last said on standard error, for the log."""
        lines = self._stderr.decode("utf-8", "replace").strip().split("\n")
        return self._redact(lines[-1]) or "no reason given"

    async def call(self, tool: str, args: Mapping[str, object], context: ToolContext) -> ToolResult:
        """Run one call in the host; cancelling it aborts it there."""
        if not self.is_alive:
            return _DEAD
        call_id = str(next(self._numbers))
        try:
            line = wire.encode_request(wire.Request(call_id, tool, args))
        except ToolError as error:
            return ToolResult(str(error), is_error=True)
        call = _Call(asyncio.get_running_loop().create_future(), context.on_update)
        self._calls[call_id] = call
        self._write(line)
        try:
            return await self._answer(call_id, call, context.aborted)
        finally:
            del self._calls[call_id]
            if not call.answer.done():
                self._write(wire.encode_abort(wire.Abort(call_id)))

    async def sweep(self) -> bool:
        """End what earlier calls left running; False if that is not certain."""
        if not self.is_alive:
            return False
        call_id = str(next(self._numbers))
        call = _Call(asyncio.get_running_loop().create_future(), lambda _: None)
        self._calls[call_id] = call
        self._write(wire.encode_sweep(wire.Sweep(call_id)))
        await asyncio.wait([call.answer], timeout=_SWEEP_SECONDS)
        del self._calls[call_id]
        return call.answer.done() and not call.answer.result().is_error

    async def end(self) -> bool:
        """Close its input and wait for its exit; False if it did not leave by itself, and clean."""
        if self._transport.get_returncode() is None:
            self._stdin.close()
            if not await _within(_CLOSE_SECONDS, self._exited):
                self._transport.kill()
                await _within(_CLOSE_SECONDS, self._exited)
        is_clean = self._transport.get_returncode() == 0
        self._transport.close()
        await _within(_CLOSE_SECONDS, self._released)
        return is_clean

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._stderr = (self._stderr + data)[-_STDERR_BYTES:]
            return
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._take(bytes(self._partial) + line)
            self._partial.clear()
        self._partial += rest
        if len(self._partial) > wire.MAX_LINE_BYTES:
            self._break_off()

    def process_exited(self) -> None:
        self.is_alive = False
        for call in self._calls.values():
            _settle(call, _DEAD)
        self.ready.set()
        self._exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._released.set()

    @property
    def _stdin(self) -> asyncio.WriteTransport:
        stdin = self._transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)
        return stdin

    def _write(self, line: bytes) -> None:
        if self.is_alive and not self._stdin.is_closing():
            self._stdin.write(line)

    async def _answer(self, call_id: str, call: _Call, aborted: asyncio.Event) -> ToolResult:
        async with asyncio.TaskGroup() as group:
            abort = group.create_task(aborted.wait())
            ends: list[asyncio.Future[Any]] = [call.answer, abort]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            abort.cancel()
        if not call.answer.done():
            self._write(wire.encode_abort(wire.Abort(call_id)))
            await asyncio.wait([call.answer], timeout=_ABORT_SECONDS)
        if not call.answer.done():
            return ToolResult("aborted; the tool host did not confirm it", is_error=True)
        return call.answer.result()

    def _take(self, line: bytes) -> None:
        try:
            answer = wire.decode_answer(line)
        except (ValueError, KeyError, TypeError):
            # a tool may have found the pipe; what comes next cannot be believed either
            self._break_off()
            return
        match answer:
            case wire.Ready():
                self.is_alive = True
                self.ready.set()
            case wire.Update(call_id, text):
                if call_id in self._calls:
                    self._calls[call_id].on_update(self._redact(text))
            case wire.Result(call_id, result):
                if call_id in self._calls:
                    _settle(self._calls[call_id], self._redacted(result))

    def _redacted(self, result: ToolResult) -> ToolResult:
        details = _map_texts(result.details, self._redact)
        assert details is None or isinstance(details, dict)
        return replace(result, text=self._redact(result.text), details=details)

    def _break_off(self) -> None:
        self._partial.clear()
        with contextlib.suppress(ProcessLookupError):
            self._transport.kill()


def _settle(call: _Call, result: ToolResult) -> None:
    if not call.answer.done():
        call.answer.set_result(result)


def _map_texts(value: object, change: Callable[[str], str]) -> object:
    """The same JSON value with every text in it changed."""
    match value:
        case str():
            return change(value)
        case dict():
            return {key: _map_texts(item, change) for key, item in value.items()}
        case list():
            return [_map_texts(item, change) for item in value]
        case _:
            return value


async def _within(seconds: float, event: asyncio.Event) -> bool:
    with contextlib.suppress(TimeoutError):
        # no `asyncio.timeout`: before 3.11.3 it does not work in a task that is cancelled
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()
