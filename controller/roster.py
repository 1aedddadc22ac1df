"""Who is in which channel, under which account. Pure: lines of the server in, inputs out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from controller.effects import Joined, Left
from shared.ircv3.casemap import Folded, fold
from shared.ircv3.message import Message


class Roster:
    """Rebuilt for each connection from WHO replies, then kept by JOIN, PART, QUIT and the like."""

    def __init__(self, own_nick: str) -> None:
        self._own = fold(own_nick)
        self._rooms: dict[Folded, dict[Folded, tuple[str, str | None]]] = {}
        """channel -> nick -> its spelling and account."""

    def feed(self, message: Message) -> list[Joined | Left]:
        """What a line says about presence; our own coming and going says nothing."""
        if fold(message.nick) == self._own and message.command != "KICK":
            return []
        match message.command, message.params:
            case "JOIN", (channel, *rest):
                account = rest[0] if rest else message.tags.get("account")
                return [self._enter(channel, message.nick, account)]
            case "PART", (channel, *_):
                return self._leave(channel, message.nick)
            case "KICK", (channel, nick, *_):
                return self._leave(channel, nick)
            case "QUIT", _:
                return self._quit(message.nick)
            case "NICK", (new_nick, *_):
                return self._rename(message.nick, new_nick)
            case "ACCOUNT", (account, *_):
                return self._log_in(message.nick, account)
            case "354", (_, _, channel, nick, _, account, *_) if fold(nick) != self._own:
                return [replace(self._enter(channel, nick, account), live=False)]
            case _:
                return []

    def _enter(self, channel: str, nick: str, account: str | None) -> Joined:
        known = None if account in ("*", "0", None) else account
        self._rooms.setdefault(fold(channel), {})[fold(nick)] = (nick, known)
        return Joined(channel, nick, known)

    def _leave(self, channel: str, nick: str) -> list[Joined | Left]:
        present = self._rooms.get(fold(channel), {}).pop(fold(nick), None)
        return [Left(channel, nick)] if present else []

    def _quit(self, nick: str) -> list[Joined | Left]:
        return [left for room in list(self._rooms) for left in self._leave(room, nick)]

    def _rename(self, nick: str, new_nick: str) -> list[Joined | Left]:
        found: list[Joined | Left] = []
        for channel, account in self._memberships(nick):
            found += self._leave(channel, nick)
            found.append(self._enter(channel, new_nick, account))
        return found

    def _log_in(self, nick: str, account: str) -> list[Joined | Left]:
        return [self._enter(channel, nick, account) for channel, _ in self._memberships(nick)]

    def _memberships(self, nick: str) -> list[tuple[str, str | None]]:
        return [
            (channel, people[fold(nick)][1])
            for channel, people in self._rooms.items()
            if fold(nick) in people
        ]


def who_request(channel: str) -> Message:
    """`WHO #c %tcnfa,7`: `354 <us> 7 #c <nick> <flags> <account or 0>` for each, then 315."""
    return Message("WHO", (channel, "%tcnfa,7"))


def is_founder(own_nick: str, reply: Iterable[Message]) -> bool:
    """Whether the answer to `who_request` shows us as the founder: the channel is registered."""
    return any(
        message.command == "354"
        and len(message.params) > 4
        and fold(message.params[3]) == fold(own_nick)
        and "~" in message.params[4]
        for message in reply
    )
