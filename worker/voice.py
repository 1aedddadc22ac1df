"""The single exit for words: whatever the worker says in its channel leaves here, cleaned, redacted
and paced. Nothing that leaves here has a tag.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

from shared.irc_client import ConnectionLost, IrcClient, Pacing, Priority, RequestTimeout
from shared.ircv3.batch import multiline_lines, parse_multiline_limits
from shared.ircv3.message import Message
from shared.ircv3.split import split_text
from shared.send_queue import SendQueue
from worker.plain_text import chunks, plain
from worker.presence import Presence

_log = logging.getLogger(__name__)

NARRATION = Pacing(burst=6, per_second=1.0)
"""So that a busy agent does not flood people who read along."""
_MULTILINE = "draft/multiline"
_OUTSIDE = frozenset({"403", "404", "442"})
"""No such channel, cannot send to it, not on it: so also in the moment before we are back."""
_TRIES_OUTSIDE = 4
_OUTSIDE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class _Words:
    text: str
    command: str = "PRIVMSG"


class Voice:
    """Says everything in the order in which it was given; `run` is its duty."""

    def __init__(
        self,
        client: IrcClient,
        presence: Presence,
        line_max_bytes: int,
        redact: Callable[[str], str],
    ) -> None:
        self._client = client
        self._presence = presence
        self._line_max_bytes = line_max_bytes
        self._redact = redact
        self._queue: SendQueue[_Words | Callable[[], None]] = SendQueue(NARRATION, _now())
        self._changed = asyncio.Event()
        self._silent = asyncio.Event()
        self._silent.set()
        self._references = count(1)

    def say(self, text: str, *, urgent: bool = False) -> None:
        """Urgent words wait for nothing, and neither does what stands before them."""
        self._put(_Words(text), cost=1)
        if urgent:
            for item in self._queue.drain():
                self._queue.put(item, Priority.CONTROL)

    def note(self, text: str) -> None:
        """A NOTICE, past whatever waits."""
        self._put(_Words(text, "NOTICE"), Priority.CONTROL)

    def then(self, act: Callable[[], None]) -> None:
        """Call `act` when everything before it is said."""
        self._put(act, cost=0)

    async def flushed(self) -> None:
        """Returns when nothing waits to be said."""
        await self._silent.wait()

    async def run(self) -> None:
        while True:
            for item in self._queue.take(_now()):
                if isinstance(item, _Words):
                    await self._speak(item)
                else:
                    item()
            wait = self._queue.seconds_until_next(_now())
            if wait is None:
                self._silent.set()
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._changed.wait()
            self._changed.clear()

    def _put(
        self,
        item: _Words | Callable[[], None],
        priority: Priority = Priority.NORMAL,
        cost: int = 1,
    ) -> None:
        self._queue.put(item, priority, cost)
        self._silent.clear()
        self._changed.set()

    async def _speak(self, words: _Words) -> None:
        for lines in self._messages(words.command, self._redact(plain(words.text))):
            await self._deliver(lines)

    def _messages(self, command: str, text: str) -> list[Sequence[Message]]:
        """What goes out together: a multiline batch, or one line each."""
        channel, line_bytes = self._presence.room.channel, self._line_max_bytes
        offered = self._client.caps.get(_MULTILINE)
        if command != "PRIVMSG" or offered is None or "\n" not in text:
            return [[Message(command, (channel, line))] for line in split_text(text, line_bytes)]
        limits = parse_multiline_limits(offered, line_bytes)
        parts = chunks(text, limits.max_bytes, limits.max_lines, line_bytes)
        return [
            multiline_lines(channel, part, {}, f"v{next(self._references)}", limits)
            for part in parts
        ]

    async def _deliver(self, lines: Sequence[Message]) -> None:
        """Until the server has it: what a connection took with it is said again on the next, and
        what the room did not take while we were put out of it, when we are back."""
        tries = 0
        while True:
            await self._presence.online.wait()
            try:
                reply = await self._client.request_lines(lines)
            except (ConnectionLost, RequestTimeout) as error:
                _log.warning("not said yet: %s", error)
                await asyncio.sleep(0)
                continue
            if reply.error is None:
                return
            tries += 1
            if reply.error.command not in _OUTSIDE or tries == _TRIES_OUTSIDE:
                _log.error("the server refuses our words: %s", reply.error)
                return
            await asyncio.sleep(_OUTSIDE_SECONDS)


def _now() -> float:
    return asyncio.get_running_loop().time()
