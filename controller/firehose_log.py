"""The log that comes first (design 4): events on #firehose, stamped, in order, echo awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

from shared.channels import FIREHOSE
from shared.firehose import Event, encode
from shared.irc_client import Reply, RequestRefused
from shared.ircv3.message import Message


class FirehoseLog:
    """Stamps `id` and `t`. Ids go on over connections: one sequence per controller process."""

    def __init__(
        self,
        request: Callable[[Message], Awaitable[Reply]],
        ids: Iterator[int],
        clock: Callable[[], float],
    ) -> None:
        self._request = request
        self._ids = ids
        self._clock = clock

    async def publish(self, event: Event) -> None:
        """Returns when the server has stored it. Raises RequestRefused.

        Nothing is awaited between stamp and send, so ids stand in the order of the channel.
        """
        line = encode(event, next(self._ids), self._clock())
        reply = await self._request(Message("PRIVMSG", (FIREHOSE, line)))
        if reply.error is not None:
            raise RequestRefused(reply.error)
