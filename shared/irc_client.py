"""The IRC client of both programs: stays connected, answers requests by label, queues events.

Everything that decides is in `ircv3` and `irc_session`; here is what outlives one connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    wait_chain,
    wait_exponential_jitter,
    wait_none,
)

from shared.irc_events import (
    ClientConfig,
    Connected,
    ConnectionLost,
    Disconnected,
    Event,
    IrcError,
    LoginRefused,
    Received,
    ReceivedBatch,
    Reply,
    RequestRefused,
    RequestTimeout,
)
from shared.irc_session import IrcSession
from shared.ircv3.chathistory import HistoryPager
from shared.ircv3.message import Message
from shared.send_queue import Pacing, Priority

__all__ = [
    "ClientConfig",
    "Connected",
    "ConnectionLost",
    "Disconnected",
    "Event",
    "IrcClient",
    "IrcError",
    "LoginRefused",
    "Pacing",
    "Priority",
    "Received",
    "ReceivedBatch",
    "Reply",
    "RequestRefused",
    "RequestTimeout",
    "history_pages",
]

_log = logging.getLogger(__name__)

_DEFAULT_PAGE = 1000
_NOTHING: Mapping[str, str] = {}


class IrcClient:
    """One identity on one server. `run` owns the connection; the rest may be used beside it."""

    def __init__(self, config: ClientConfig) -> None:
        self.events: asyncio.Queue[Event] = asyncio.Queue()
        self._config = config
        self._session: IrcSession | None = None
        self._connections = 0
        self._closing = asyncio.Event()

    @property
    def connected(self) -> bool:
        """Whether requests can be made now."""
        return self._session is not None and self._session.connected

    @property
    def nick(self) -> str:
        """What we are called now, or would like to be."""
        return self._session.registration.nick if self._session else self._config.nick

    @property
    def caps(self) -> Mapping[str, str]:
        """Granted capabilities with their values."""
        return self._session.registration.caps if self._session else _NOTHING

    @property
    def isupport(self) -> Mapping[str, str]:
        """The server's ISUPPORT."""
        return self._session.registration.isupport if self._session else _NOTHING

    def last_reply_age(self, now: float) -> float:
        """Seconds since the server last said anything; infinite without a connection.

        `now` is the event loop's time.
        """
        if self._session is None or not self._session.connected:
            return float("inf")
        return now - self._session.last_line_at

    async def run(self) -> None:
        """Connect, and connect again whenever the connection is lost, until `close`.

        The first retry comes at once, later ones back off to `retry_max_seconds`. Raises
        LoginRefused, which no retry would cure.
        """
        with suppress(ConnectionLost):
            while not self._closing.is_set():
                await self._retrying()(self._connect_once)

    def _retrying(self) -> AsyncRetrying:
        backoff = wait_exponential_jitter(
            multiplier=0.25, max=self._config.retry_max_seconds, jitter=0.5
        )
        return AsyncRetrying(
            retry=retry_if_exception_type(ConnectionLost),
            wait=wait_chain(wait_none(), backoff),
            sleep=self._pause,
            stop=lambda _: self._closing.is_set(),
            before_sleep=self._tell,
            reraise=True,
        )

    async def _connect_once(self) -> None:
        """Serve one connection; raises ConnectionLost when it did not last."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        self._connections += 1
        session = IrcSession(self._config, self._connections, self.events.put_nowait)
        self._session = session
        reason = "cancelled"
        try:
            reason = await session.run()
        finally:
            if session.announced:
                self.events.put_nowait(Disconnected(self._connections, reason))
        lived = loop.time() - started
        if not session.announced or lived < self._config.stable_after_seconds:
            raise ConnectionLost(reason)
        _log.warning("connection lost: %s", reason)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()

    def _tell(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        _log.warning("%s; next attempt in %.1f s", error, state.upcoming_sleep)

    async def close(self, reason: str = "closing") -> None:
        """Leave the server, bounded in time; `run` returns."""
        self._closing.set()
        if self._session:
            await self._session.quit(reason)

    def send(self, message: Message, priority: Priority = Priority.NORMAL) -> None:
        """Send one line without waiting for an answer; raises ConnectionLost when not connected."""
        self._current().send((message,), priority)

    async def request(
        self, message: Message, timeout: float = 10.0, priority: Priority = Priority.NORMAL
    ) -> Reply:
        """Send one line and wait for the server's whole answer to it.

        Raises RequestTimeout and ConnectionLost; a refusal is a value, `Reply.error`.
        """
        return await self._current().request((message,), timeout, priority)

    async def request_lines(
        self,
        messages: Sequence[Message],
        timeout: float = 10.0,
        priority: Priority = Priority.NORMAL,
    ) -> Reply:
        """Like `request`, for lines that belong together, as a multiline batch does."""
        return await self._current().request(messages, timeout, priority)

    def _current(self) -> IrcSession:
        if self._session is None:
            raise ConnectionLost("not connected")
        return self._session


async def history_pages(
    client: IrcClient,
    target: str,
    *,
    after: str | None = None,
    before: str | None = None,
    timeout: float = 30.0,
) -> AsyncIterator[Message]:
    """All messages of a target's history, without the event rows.

    With `after` oldest first, from there on (up to `before`, if given); else newest first, back to
    the beginning. Anchors are `msgid=<id>`, `timestamp=<time>` or a bare msgid.
    """
    limit = client.isupport.get("CHATHISTORY", "")
    page_size = int(limit) if limit.isdecimal() and int(limit) > 0 else _DEFAULT_PAGE
    pager = HistoryPager(target, page_size, after=after, before=before)
    while not pager.finished:
        reply = await client.request(pager.request(), timeout)
        if reply.error:
            raise RequestRefused(reply.error)
        for message in pager.feed(reply.batch):
            yield message
