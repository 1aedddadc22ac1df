"""Channels of ours: made once, and after that left as an operator may have changed them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from controller.refusals import require, says
from controller.write_schedule import STANDARD_MODES, chanserv_write, mode_write
from controller.writes import PacedWrites
from shared.irc_client import Reply
from shared.ircv3.message import Message

Request = Callable[[Message], Awaitable[Reply]]


async def modes_of(request: Request, channel: str) -> set[str]:
    """The letters that are set."""
    reply = await request(Message("MODE", (channel,)))
    flags = [m.params[2] for m in reply.messages if m.command == "324" and len(m.params) > 2]
    return set("".join(flags)) - {"+"}


class Rooms:
    """Lives as long as a connection."""

    def __init__(self, request: Request, writes: PacedWrites) -> None:
        self._request = request
        self._writes = writes
        self._can_leave_events_out = True
        """Until the server says that it has no such setting (ergo 2.18)."""

    async def make(self, channel: str, *, moderated: bool = False, anew: bool = False) -> None:
        """Join it and register it unless that is done; `anew` sets its modes even then.

        Registration comes after the modes: a channel that was not finished is forgotten by the
        server, and made anew. Raises Refused.
        """
        await self.join(channel)
        registered = says(await self._request(Message("CS", ("INFO", channel))), "is registered")
        if anew and not registered:
            await self._take_charge(channel)
        if anew or not registered:
            await self._set_modes(channel, STANDARD_MODES | ({"m"} if moderated else set()))
        if not registered:
            await self._register(channel)

    async def _set_modes(self, channel: str, wanted: frozenset[str]) -> None:
        missing = "".join(sorted(wanted - await modes_of(self._request, channel)))
        if missing:
            (reply,) = await self._writes.write(channel, [mode_write(channel, missing, on=True)])
            require(reply, f"MODE {channel} +{missing}")

    async def _take_charge(self, channel: str) -> None:
        """Who joins a channel that is nobody's and not empty is no operator there."""
        numeric = (await self._request(Message("MODE", (channel,)))).messages[0]
        own_nick = numeric.params[0]
        reply = await self._request(Message("SAMODE", (channel, "+o", own_nick)))
        require(reply, f"SAMODE {channel} +o {own_nick}")

    async def _register(self, channel: str) -> None:
        (reply,) = await self._writes.write(channel, [chanserv_write(channel, "REGISTER")])
        require(reply, f"CS REGISTER {channel}", "successfully registered", "already registered")
        await self._leave_events_out(channel)

    async def join(self, channel: str) -> None:
        """Raises Refused; being there already is no refusal."""
        require(await self._request(Message("JOIN", (channel,))), f"JOIN {channel}")

    async def _leave_events_out(self, channel: str) -> None:
        """Joins and topics need no row in the history, where the server can leave them out."""
        if self._can_leave_events_out:
            write = chanserv_write(channel, "SET", "STORE-EVENTS", "none")
            (reply,) = await self._writes.write(channel, [write])
            self._can_leave_events_out = not says(reply, "Invalid params")
