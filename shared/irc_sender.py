"""The way out of one connection: checked lines, in the order and at the pace of the send queue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shared.ircv3.message import Message, format_message
from shared.send_queue import Pacing, Priority, SendQueue

_LINE_BYTES = 510
_TAG_BYTES = 4080  # 4094 without "@" and the space, less a label


@dataclass(frozen=True, slots=True)
class _Outgoing:
    """Lines that must leave together, and who wants to know that they left."""

    lines: tuple[str, ...]
    when_sent: Callable[[], None] | None


class LineSender:
    """Writes at once what the pacing allows, the rest when it is due."""

    def __init__(self, pacing: Pacing | None, write: Callable[[str], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._write = write
        self._queue: SendQueue[_Outgoing] = SendQueue(pacing, self._loop.time())
        self._timer: asyncio.TimerHandle | None = None

    def send(
        self,
        messages: Sequence[Message],
        priority: Priority,
        when_sent: Callable[[], None] | None = None,
    ) -> None:
        """Queue lines that leave together; raises ProtocolError before anything is queued."""
        lines = tuple(map(format_message, messages))
        self._queue.put(_Outgoing(lines, when_sent), priority, cost=len(lines))
        self._flush()

    def stop(self) -> None:
        """Forget what is queued: the connection is gone."""
        self._queue.drain()
        self._cancel_timer()

    def _flush(self) -> None:
        self._cancel_timer()
        for outgoing in self._queue.take(self._loop.time()):
            for line in outgoing.lines:
                self._write(line)
            if outgoing.when_sent:
                outgoing.when_sent()
        wait = self._queue.seconds_until_next(self._loop.time())
        if wait is not None:
            self._timer = self._loop.call_later(wait, self._flush)

    def _cancel_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None


def too_long(messages: Sequence[Message]) -> str | None:
    """What is wrong with the length of these lines; None if they fit.

    ergo answers such a line with a 417 that names no label, or hangs up, so we look first.
    """
    for line in map(format_message, messages):
        head, _, body = line.partition(" ") if line.startswith("@") else ("", "", line)
        if len(body.encode()) > _LINE_BYTES:
            return f"Line too long: {len(body.encode())} bytes, at most {_LINE_BYTES} fit"
        if len(head.encode()) - 1 > _TAG_BYTES:
            return f"Tags too long: {len(head.encode()) - 1} bytes, at most {_TAG_BYTES} fit"
    return None
