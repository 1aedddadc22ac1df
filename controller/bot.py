"""Serves one connection after the other; nothing is carried over but the numbers of events."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress

from controller.connection import Connection, Office
from controller.refusals import Refused
from shared.irc_client import (
    Connected,
    ConnectionLost,
    Disconnected,
    IrcError,
)
from shared.ircv3.message import Message

_log = logging.getLogger(__name__)


class Bot:
    """The controller on IRC."""

    def __init__(self, office: Office, when_ready: Callable[[], None]) -> None:
        self._office = office
        self._when_ready = when_ready

    async def run(self) -> None:
        """For ever. Raises a group of what no new connection would cure."""
        events = self._office.client.events
        while True:
            event = await events.get()
            if isinstance(event, Connected):
                await self._serve(event)

    async def _serve(self, connected: Connected) -> None:
        connection = Connection(self._office, connected)
        try:
            await connection.run(self._when_ready)
        except* (IrcError, Refused) as group:
            _log.warning("starting over: %s", "; ".join(map(str, leaves(group))))
        if not connection.over:
            await self._leave()

    async def _leave(self) -> None:
        """What broke may have left work undone: only a new connection starts from the truth."""
        client = self._office.client
        with suppress(ConnectionLost):
            client.send(Message("QUIT", ("starting over",)))
        while not isinstance(await client.events.get(), Disconnected):
            pass


def leaves(error: BaseException) -> list[BaseException]:
    """The errors in a group, however nested."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for part in error.exceptions for leaf in leaves(part)]
    return [error]
