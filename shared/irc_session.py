"""One connection from its first line to its last: registration, labels, batches, keepalive, nick.

`IrcClient` makes a new session for each attempt, so nothing of an old connection can leak into
the next one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

from shared.irc_events import (
    ClientConfig,
    Connected,
    ConnectionLost,
    Event,
    IrcError,
    LoginRefused,
    Received,
    ReceivedBatch,
    Reply,
    RequestTimeout,
    reply_of,
)
from shared.irc_transport import LineTransport
from shared.ircv3.batch import MULTILINE, Batch, BatchAssembler, join_multiline
from shared.ircv3.casemap import fold
from shared.ircv3.message import Message, ProtocolError, format_message, parse
from shared.ircv3.registration import Identity, Phase, Registration
from shared.send_queue import Priority, SendQueue

_log = logging.getLogger(__name__)

_REQUIRED_CAPS = ("batch", "labeled-response", "message-tags")
_QUIT_SECONDS = 2.0  # for the server to read what is queued and to close


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Lines that must leave together, and who wants to know that they left."""

    lines: tuple[str, ...]
    when_sent: Callable[[], None] | None = None


class IrcSession:
    """Lives as long as one connection; all of it runs on one event loop."""

    def __init__(
        self, config: ClientConfig, connection: int, emit: Callable[[Event], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._config = config
        self._connection = connection
        self._emit = emit
        self._assembler = BatchAssembler()
        self._labels = map(str, count(1))
        self._waiting: dict[str, asyncio.Future[Reply]] = {}
        self._queue: SendQueue[Outgoing] = SendQueue(config.pacing, self._loop.time())
        self._flush_timer: asyncio.TimerHandle | None = None
        self._transport: LineTransport | None = None
        self._ready = asyncio.Event()
        self._nick_freed = asyncio.Event()
        self.registration = Registration(
            Identity(config.nick, config.realname, config.account, config.password, config.bot)
        )
        self.last_line_at = self._loop.time()

    @property
    def connected(self) -> bool:
        """Registered, and not yet seen to be closed."""
        open_ = self._transport is not None and not self._transport.closed.done()
        return open_ and self._ready.is_set()

    @property
    def announced(self) -> bool:
        """Whether `Connected` was emitted."""
        return self._ready.is_set()

    async def run(self) -> str:
        """Connect and serve until the connection ends; the reason. Raises LoginRefused."""
        transport = await LineTransport.open(
            self._config.host, self._config.port, tls=self._config.tls, on_line=self._receive_line
        )
        self._transport = transport
        try:
            for message in self.registration.start():
                self._send_now(message)
            async with asyncio.TaskGroup() as group:
                duties = [group.create_task(duty()) for duty in (self._watch, self._reclaim_nick)]
                reason = await transport.closed
                for duty in duties:
                    duty.cancel()
        finally:
            self._end(transport)
        if refusal := self.registration.refusal:
            raise LoginRefused(self._config.account, refusal.code, refusal.text)
        return reason

    def _end(self, transport: LineTransport) -> None:
        transport.abort("the session was ended")
        self._queue.drain()
        if self._flush_timer:
            self._flush_timer.cancel()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ConnectionLost(transport.closed.result()))

    # Sending

    def send(self, messages: Sequence[Message], priority: Priority) -> None:
        self._enqueue(Outgoing(tuple(map(format_message, messages))), priority)

    async def request(
        self, messages: Sequence[Message], timeout: float, priority: Priority
    ) -> Reply:
        """Send lines with a label on the first; the time runs from when they have left."""
        label = next(self._labels)
        first = replace(messages[0], tags={**messages[0].tags, "label": label})
        lines = tuple(map(format_message, (first, *messages[1:])))
        answer: asyncio.Future[Reply] = self._loop.create_future()
        self._waiting[label] = answer
        try:
            async with asyncio.timeout(None) as deadline:
                start = partial(self._start_clock, deadline, timeout)
                self._enqueue(Outgoing(lines, start), priority)
                return await answer
        except TimeoutError:
            raise RequestTimeout(
                f"no answer to {messages[0].command} within {timeout:g} s"
            ) from None
        finally:
            del self._waiting[label]

    def _start_clock(self, deadline: asyncio.Timeout, seconds: float) -> None:
        deadline.reschedule(self._loop.time() + seconds)

    async def quit(self, reason: str) -> None:
        """Say goodbye, and wait a little for the server to close."""
        if self._transport is None:
            return
        self._send_now(Message("QUIT", (reason,)))
        await asyncio.wait((self._transport.closed,), timeout=_QUIT_SECONDS)
        self._transport.abort("closed")

    def _enqueue(self, outgoing: Outgoing, priority: Priority) -> None:
        if not self.connected:
            raise ConnectionLost("not connected")
        self._queue.put(outgoing, priority, cost=len(outgoing.lines))
        self._flush()

    def _send_now(self, message: Message) -> None:
        self._queue.put(Outgoing((format_message(message),)), Priority.CONTROL)
        self._flush()

    def _flush(self) -> None:
        if self._flush_timer:
            self._flush_timer.cancel()
            self._flush_timer = None
        for outgoing in self._queue.take(self._loop.time()):
            self._write(outgoing)
        wait = self._queue.seconds_until_next(self._loop.time())
        if wait is not None:
            self._flush_timer = self._loop.call_later(wait, self._flush)

    def _write(self, outgoing: Outgoing) -> None:
        if self._transport is None or self._transport.closed.done():
            return
        for line in outgoing.lines:
            self._transport.write(line)
        if outgoing.when_sent:
            outgoing.when_sent()

    # Receiving

    def _receive_line(self, line: str) -> None:
        self.last_line_at = self._loop.time()
        try:
            message = parse(line)
        except ProtocolError as error:
            _log.debug("ignored: %s", error)
            return
        self._receive(message)

    def _receive(self, message: Message) -> None:
        if message.command == "PING":
            self._send_now(Message("PONG", message.params))
            return
        was_ready = self._ready.is_set()
        for line in self.registration.feed(message):
            self._send_now(line)
        self._notice_phase()
        if message.command in ("NICK", "QUIT") and self._is_wanted_nick(message.nick):
            self._nick_freed.set()
        item = self._assembler.feed(message)
        if item is not None and was_ready:
            self._deliver(item)

    def _notice_phase(self) -> None:
        registration = self.registration
        if registration.phase is Phase.READY and not self._ready.is_set():
            registration.require(_REQUIRED_CAPS)
        if registration.phase is Phase.REFUSED:
            self._abort("login refused")
        elif registration.phase is Phase.READY and not self._ready.is_set():
            self._ready.set()
            caps, isupport = dict(registration.caps), dict(registration.isupport)
            self._emit(Connected(self._connection, registration.nick, caps, isupport))

    def _deliver(self, item: Message | Batch) -> None:
        label = item.tags.get("label")
        if label is not None:
            answer = self._waiting.get(label)
            if answer and not answer.done():
                answer.set_result(reply_of(item))
        elif isinstance(item, Message):
            if item.command != "PONG":
                self._emit(Received(item))
        elif item.type == MULTILINE:
            self._emit(Received(join_multiline(item)))
        else:
            self._emit(ReceivedBatch(item))

    # Duties

    async def _watch(self) -> None:
        """End a connection that does not get ready, or whose server has fallen silent."""
        config = self._config
        try:
            async with asyncio.timeout(config.connect_timeout_seconds):
                await self._ready.wait()
        except TimeoutError:
            self._abort(f"not logged in within {config.connect_timeout_seconds:g} s")
            return
        while await self._is_alive():
            pass
        silence = config.ping_after_seconds + config.ping_timeout_seconds
        self._abort(f"the server was silent for {silence:g} s")

    async def _is_alive(self) -> bool:
        config = self._config
        quiet_at = self.last_line_at + config.ping_after_seconds
        await asyncio.sleep(max(0.0, quiet_at - self._loop.time()))
        asked_at = self._loop.time()
        if asked_at - self.last_line_at < config.ping_after_seconds:
            return True
        self._send_now(Message("PING", ("ergonaut",)))
        await asyncio.sleep(config.ping_timeout_seconds)
        return self.last_line_at >= asked_at

    async def _reclaim_nick(self) -> None:
        """While we go by another nick, ask for ours: when its holder leaves, and now and then."""
        await self._ready.wait()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._config.nick_retry_seconds):
                    await self._nick_freed.wait()
            self._nick_freed.clear()
            if not self._is_wanted_nick(self.registration.nick):
                with suppress(IrcError):  # still taken: ask again later
                    await self.request(
                        [Message("NICK", (self._config.nick,))], 10.0, Priority.CONTROL
                    )

    def _is_wanted_nick(self, nick: str) -> bool:
        mapping = self.registration.isupport.get("CASEMAPPING", "ascii")
        return fold(nick, mapping) == fold(self._config.nick, mapping)

    def _abort(self, reason: str) -> None:
        if self._transport:
            self._transport.abort(reason)
