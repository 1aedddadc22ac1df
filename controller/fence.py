"""One controller at a time (design 3). ergo lets sessions share an account, so we look and ask.

A newcomer sends a nonce to its own nick, which all sessions of the account receive. An older live
session answers and stays; sessions that do not answer are logged out.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from controller.errors import AnotherController, StartRefused
from shared.irc_client import Reply
from shared.ircv3.message import Message

NONCE_TAG = "+ergonaut/nonce"
ALIVE_TAG = "+ergonaut/alive"
"""`<nonce>.<client number of who answers>`"""
ANSWER_SECONDS = 2.0

_CLIENT = re.compile(r"Client (\d+)( \(currently attached client\))?:")

Request = Callable[[Message], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class Sessions:
    """What `NS CLIENTS LIST` says: ergo counts the sessions of a nick upwards as they come."""

    own: int
    others: tuple[int, ...]


def parse_sessions(lines: Iterable[str]) -> Sessions | None:
    """Read `Client 0:` and `Client 1 (currently attached client):`; None without our own."""
    found = [match for line in lines if (match := _CLIENT.fullmatch(line.strip()))]
    own = [int(match[1]) for match in found if match[2]]
    if len(own) != 1:
        return None
    return Sessions(own[0], tuple(int(match[1]) for match in found if not match[2]))


class Fence:
    """Our side of it, for one connection."""

    def __init__(self, request: Request, nick: str, nonce: str) -> None:
        self._request = request
        self._nick = nick
        self._nonce = nonce
        self._number: int | None = None
        self._older_answered = asyncio.Event()

    def feed(self, message: Message) -> Message | None:
        """Take a TAGMSG to our own nick from our own account; an answer to give, if any."""
        asked = message.tags.get(NONCE_TAG)
        if asked is not None and asked != self._nonce and self._number is not None:
            return Message("TAGMSG", (self._nick,), {ALIVE_TAG: f"{asked}.{self._number}"})
        nonce, _, number = message.tags.get(ALIVE_TAG, "").rpartition(".")
        if nonce == self._nonce and number.isdecimal() and self._is_older(int(number)):
            self._older_answered.set()
        return None

    def _is_older(self, number: int) -> bool:
        return self._number is not None and number < self._number

    async def claim(self, answer_seconds: float = ANSWER_SECONDS) -> None:
        """Return as the only session of the account. Raises AnotherController."""
        reply = await self._request(Message("NS", ("CLIENTS", "LIST")))
        sessions = parse_sessions(message.text for message in reply.messages)
        if sessions is None:
            raise StartRefused("NickServ does not list our sessions (NS CLIENTS LIST)")
        self._number = sessions.own
        if not sessions.others:
            return
        await self._request(Message("TAGMSG", (self._nick,), {NONCE_TAG: self._nonce}))
        with suppress(TimeoutError):
            async with asyncio.timeout(answer_seconds):
                await self._older_answered.wait()
        if self._older_answered.is_set():
            raise AnotherController(
                f"another controller is logged in as {self._nick} and answers; it goes on working"
            )
        for number in sessions.others:
            await self._request(Message("NS", ("CLIENTS", "LOGOUT", str(number))))
