"""The log that comes first (design 4): events on #firehose, stamped, in order, echo awaited; and
read back, for an echo does not prove that the server could store it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

from controller.inputs import server_time, unix_time
from controller.unproven import Sent, Unproven
from shared.channels import FIREHOSE
from shared.firehose import Event, encode
from shared.irc_client import IrcClient, Reply, RequestRefused, history_pages
from shared.ircv3.message import Message

_SINCE_SECONDS = 1.0  # lines may share a time


class FirehoseLog:
    """Stamps `id` and `t`. Ids go on over connections: one sequence per controller process."""

    def __init__(
        self,
        request: Callable[[Message], Awaitable[Reply]],
        ids: Iterator[int],
        clock: Callable[[], float],
        unproven: Unproven | None = None,
    ) -> None:
        self._request = request
        self._ids = ids
        self._clock = clock
        self._unproven = unproven or Unproven()

    async def publish(self, event: Event) -> None:
        """Returns when the server has taken it. Raises RequestRefused.

        Nothing is awaited between stamp and send, so ids stand in the order of the channel.
        """
        line = encode(event, next(self._ids), self._clock())
        self._unproven.echoed(line, await self._send(line))

    async def _send(self, line: str) -> float:
        """Server time of the echo."""
        reply = await self._request(Message("PRIVMSG", (FIREHOSE, line)))
        if reply.error is not None:
            raise RequestRefused(reply.error)
        stamps = [unix_time(m.tags.get("time", "")) for m in reply.messages]
        return next((at for at in stamps if at is not None), self._clock())

    async def prove(self, client: IrcClient) -> bool:
        """Whether the server holds all that we published; what is missing is sent again first.

        One alone is tried before the rest: a full disk is not fed with all of them each time.
        """
        missing = await self._missing(client, self._unproven.waiting())
        for again in (missing[:1], missing[1:]):
            for sent in again:
                await self._send(sent.line)
            if await self._missing(client, again):
                return False
        return True

    async def _missing(self, client: IrcClient, checked: tuple[Sent, ...]) -> tuple[Sent, ...]:
        if not checked:
            return ()
        since = server_time(min(sent.at for sent in checked) - _SINCE_SECONDS)
        pages = history_pages(client, FIREHOSE, after=f"timestamp={since}")
        stored = {message.text async for message in pages}
        return self._unproven.missing(checked, stored)
