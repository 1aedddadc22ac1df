"""One connection from its first line to its last: registration, labels, batches, keepalive, nick.

`IrcClient` makes a new session for each attempt, so nothing of an old connection can leak into
the next one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
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
from shared.irc_sender import LineSender, too_long
from shared.irc_transport import LineTransport
from shared.ircv3.batch import MULTILINE, Batch, BatchAssembler, join_multiline
from shared.ircv3.casemap import fold
from shared.ircv3.message import Message, ProtocolError, parse
from shared.ircv3.registration import Identity, Phase, Registration
from shared.ircv3.split import clean
from shared.send_queue import Priority

_log = logging.getLogger(__name__)

_REQUIRED_CAPS = ("batch", "labeled-response", "message-tags")
_QUIT_SECONDS = 2.0  # for the server to read what is queued and to close


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
        self._sender = LineSender(config.pacing, self._write)
        self._transport: LineTransport | None = None
        self._opening: asyncio.Timeout | None = None
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
        self._transport = transport = await self._open()
        try:
            for message in self.registration.start():
                self._send_now(message)
            async with asyncio.TaskGroup() as group:
                duties = [group.create_task(duty()) for duty in (self._watch, self._reclaim_nick)]
                await asyncio.wait((transport.closed,))  # being cancelled must not cancel it
                for duty in duties:
                    duty.cancel()
        finally:
            self._end(transport)
        if refusal := self.registration.refusal:
            raise LoginRefused(self._config.account, refusal.code, refusal.text)
        return transport.closed.result()

    async def _open(self) -> LineTransport:
        config = self._config
        try:
            async with asyncio.timeout(config.connect_timeout_seconds) as self._opening:
                return await LineTransport.open(
                    config.host, config.port, tls=config.tls, on_line=self._receive_line
                )
        except TimeoutError:
            raise ConnectionLost(f"no connection to {config.host}:{config.port}") from None
        finally:
            self._opening = None

    def _end(self, transport: LineTransport) -> None:
        transport.abort("the session was ended")
        self._sender.stop()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ConnectionLost(transport.closed.result()))

    # Sending

    def send(self, messages: Sequence[Message], priority: Priority) -> None:
        """Send lines together without a label; raises ProtocolError for a line that cannot go."""
        self._check_connected()
        if problem := too_long(messages):
            raise ProtocolError(problem)
        self._sender.send(messages, priority)

    async def request(
        self, messages: Sequence[Message], timeout: float, priority: Priority
    ) -> Reply:
        """Send lines with a label on the first; the time runs from when they have left."""
        self._check_connected()
        if problem := too_long(messages):
            return Reply((Message("417", (self.registration.nick, problem)),))
        label = next(self._labels)
        first = replace(messages[0], tags={**messages[0].tags, "label": label})
        answer: asyncio.Future[Reply] = self._loop.create_future()
        self._waiting[label] = answer
        try:
            async with asyncio.timeout(None) as deadline:
                start = partial(self._start_clock, deadline, timeout)
                self._sender.send((first, *messages[1:]), priority, start)
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
        """Say goodbye after what is queued, and wait a little for the server to close."""
        if self._transport is None:
            if self._opening:
                self._opening.reschedule(self._loop.time())
            return
        if not self._ready.is_set():
            self._abort("closed")
            return
        self._sender.send((Message("QUIT", (clean(reason),)),), Priority.BULK)
        await asyncio.wait((self._transport.closed,), timeout=_QUIT_SECONDS)
        self._transport.abort("closed")

    def _check_connected(self) -> None:
        if not self.connected:
            raise ConnectionLost("not connected")

    def _send_now(self, message: Message) -> None:
        self._sender.send((message,), Priority.CONTROL)

    def _write(self, line: str) -> None:
        if self._transport and not self._transport.closed.done():
            self._transport.write(line)

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
        if message.command == "ERROR":  # the server's last word, and the reason to tell
            self._abort(f"closed by the server: {message.text}")
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
            if self._goes_by_another_nick():
                with suppress(IrcError):  # still taken: ask again later
                    await self.request(
                        [Message("NICK", (self._config.nick,))], 10.0, Priority.CONTROL
                    )

    def _goes_by_another_nick(self) -> bool:
        # ergo makes the account's name the nick: asking for another is no use
        nick = fold(self.registration.nick)
        return not self._is_wanted_nick(nick) and nick != fold(self._config.account or "")

    def _is_wanted_nick(self, nick: str) -> bool:
        mapping = self.registration.isupport.get("CASEMAPPING", "ascii")
        return fold(nick, mapping) == fold(self._config.nick, mapping)

    def _abort(self, reason: str) -> None:
        if self._transport:
            self._transport.abort(reason)
