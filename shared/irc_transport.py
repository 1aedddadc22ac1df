"""Lines over a socket: the one place that touches the package `irc`.

Of the package only the transport is used. Its own log-on, length check, logging of raw lines
(passwords among them) and event parsing are replaced, because they know nothing of IRCv3.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from irc.client_aio import AioConnection, AioReactor, IrcProtocol
from irc.connection import AioFactory
from jaraco.stream.buffer import LenientDecodingLineBuffer

from shared.irc_events import ConnectionLost

_log = logging.getLogger(__name__)

OnLine = Callable[[str], None]


class _LineProtocol(IrcProtocol):  # type: ignore[misc]
    def connection_lost(self, exc: Exception | None) -> None:
        self.connection.lost(str(exc) if exc else "the server closed the connection")


class _LineConnection(AioConnection):  # type: ignore[misc]
    protocol_class = _LineProtocol
    buffer_class = LenientDecodingLineBuffer  # one byte that is not UTF-8 must not end everything

    def __init__(self, on_line: OnLine) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(AioReactor(loop=loop))
        self._on_line = on_line
        self.closed: asyncio.Future[str] = loop.create_future()

    def nick(self, newnick: str) -> None:
        """Not sent by the package: registration speaks first, with CAP."""

    def user(self, username: str, realname: str) -> None:
        """Not sent by the package, see `nick`."""

    def process_data(self, new_data: bytes) -> None:
        self.buffer.feed(new_data)
        for line in self.buffer:
            self._process_line(line)

    def _process_line(self, line: str) -> None:
        try:
            self._on_line(line)
        except Exception:  # asyncio would drop the connection for a mistake of ours
            _log.exception("a received line could not be handled")

    def lost(self, reason: str) -> None:
        if not self.closed.done():
            self.closed.set_result(reason)


class LineTransport:
    """One open connection; `closed` resolves to the reason when it ends."""

    def __init__(self, connection: _LineConnection) -> None:
        self._connection = connection
        self.closed: asyncio.Future[str] = connection.closed

    @classmethod
    async def open(cls, host: str, port: int, *, tls: bool, on_line: OnLine) -> LineTransport:
        """Connect; every line of the server goes to `on_line`, whose errors are logged."""
        connection = _LineConnection(on_line)
        factory = AioFactory(ssl=True) if tls else AioFactory()
        try:
            await connection.connect(host, port, "", connect_factory=factory)
        except OSError as error:
            raise ConnectionLost(f"cannot connect to {host}:{port}: {error}") from error
        return cls(connection)

    def write(self, line: str) -> None:
        self._connection.transport.write(f"{line}\r\n".encode())

    def abort(self, reason: str) -> None:
        """End the connection now, unsent lines included."""
        self._connection.lost(reason)
        self._connection.transport.abort()
