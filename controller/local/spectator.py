"""A person's client without a screen: says lines, waits for lines, and prints what it sees."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

from shared.irc_client import IrcClient, Received, RequestRefused
from shared.ircv3.batch import multiline_lines, parse_multiline_limits
from shared.ircv3.message import Message
from shared.ircv3.split import strip_formatting

_SHOWN = ("PRIVMSG", "NOTICE", "TOPIC", "JOIN", "PART", "INVITE", "QUIT", "KICK")


@dataclass(frozen=True, slots=True)
class Seen:
    """One line as a person's client shows it."""

    command: str
    nick: str
    place: str
    """Channel, or the nick that a private line came from; "" for QUIT."""
    text: str


Predicate = Callable[[Seen], bool]


class Spectator:
    """Wraps a client of a person; `watch` must run beside whatever waits."""

    def __init__(self, client: IrcClient, show: Callable[[str], None]) -> None:
        self._client = client
        self._show = show
        self._seen: list[Seen] = []
        self._news = asyncio.Condition()
        self._batches = itertools.count(1)

    async def watch(self) -> None:
        """Take what the server sends, for ever."""
        while True:
            event = await self._client.events.get()
            if isinstance(event, Received) and event.message.command in _SHOWN:
                await self._note(_seen(event.message))

    async def join(self, channel: str) -> None:
        """Raises RequestRefused where the server does not let us in."""
        await self._ask(Message("JOIN", (channel,)))

    async def say(self, place: str, text: str) -> None:
        """A line, or several as one multiline message, echoed by the server."""
        if "\n" not in text:
            await self._ask(Message("PRIVMSG", (place, text)))
        else:
            limits = parse_multiline_limits(self._client.caps.get("draft/multiline", ""))
            lines = multiline_lines(place, text, {}, f"s{next(self._batches)}", limits)
            reply = await self._client.request_lines(lines)
            if reply.error:
                raise RequestRefused(reply.error)
        await self._note(Seen("PRIVMSG", self._client.nick, place, text))

    async def until(self, predicate: Predicate, since: int = 0) -> Seen:
        """The first line from number `since` on that fits; waits for ever, so bound it."""
        async with self._news:
            while True:
                for seen in self._seen[since:]:
                    if predicate(seen):
                        return seen
                await self._news.wait()

    @property
    def mark(self) -> int:
        """Number of lines so far: `until(..., since=mark)` sees only later ones."""
        return len(self._seen)

    async def _ask(self, message: Message) -> None:
        reply = await self._client.request(message)
        if reply.error:
            raise RequestRefused(reply.error)

    async def _note(self, seen: Seen) -> None:
        async with self._news:
            self._seen.append(seen)
            self._news.notify_all()
        for line in seen.text.split("\n"):
            self._show(_shown(replace(seen, text=line)))


def _seen(message: Message) -> Seen:
    command, nick = message.command, message.nick
    if command == "QUIT":
        return Seen(command, nick, "", message.text)
    if command == "INVITE":
        return Seen(command, nick, message.params[-1], message.params[0])
    place = message.params[0] if message.params else ""
    private = not place.startswith("#")
    text = message.params[-1] if len(message.params) > 1 else ""
    return Seen(command, nick, nick if private else place, strip_formatting(text))


def _shown(seen: Seen) -> str:
    match seen.command:
        case "PRIVMSG":
            line = f"<{seen.nick}> {seen.text}"
        case "NOTICE":
            line = f"-{seen.nick}- {seen.text}"
        case "TOPIC":
            line = f"--- {seen.nick} set the topic: {seen.text}"
        case "JOIN":
            line = f"--> {seen.nick} has joined"
        case "INVITE":
            line = f"--- {seen.nick} invites you"
        case _:
            line = f"<-- {seen.nick} has left ({seen.text})"
    place = seen.place if seen.place.startswith("#") else "(private)"
    return f"{place:<9} {line}"
