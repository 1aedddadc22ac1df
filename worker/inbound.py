"""What a line from IRC means to this worker: by account and role, never by nick. Pure.

Nothing here interprets `!`, and only the controller's account can direct.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from shared.directives import (
    CONTROL_TAG,
    REPLY_TAG,
    ControlTag,
    ToWorker,
    parse_control_tag,
    parse_to_worker,
)
from shared.ircv3.casemap import fold
from shared.ircv3.message import Message
from shared.ircv3.split import strip_formatting
from worker.effects import Role, RoomLine

_NUMBERED_AGENT = re.compile(r"agent-[0-9]+", re.I)
_BOT_TAG = "bot"


@dataclass(frozen=True, slots=True)
class Room:
    """Who is who around one attempt of one task."""

    channel: str
    task: int
    attempt: int
    account: str
    """The worker's own."""
    controller: str
    requester: str
    maintainers: Collection[str] = ()
    pool: Collection[str] = field(default_factory=frozenset)
    """Accounts of workers, as far as known; those have no role."""

    def is_channel(self, target: str) -> bool:
        return fold(target) == fold(self.channel)

    def is_self(self, name: str) -> bool:
        return fold(name) == fold(self.account)

    def is_controller(self, account: str) -> bool:
        return fold(account) == fold(self.controller)

    def is_worker(self, account: str) -> bool:
        """Pool accounts are told by list, by form, or by the bot mode that every worker sets."""
        known = fold(account) in {fold(name) for name in (self.account, *self.pool)}
        return known or _NUMBERED_AGENT.fullmatch(account) is not None

    def role(self, account: str) -> Role:
        if self.requester and fold(account) == fold(self.requester):
            return Role.REQUESTER
        if fold(account) in {fold(name) for name in self.maintainers}:
            return Role.MAINTAINER
        return Role.MEMBER


@dataclass(frozen=True, slots=True)
class Line:
    """A person speaks."""

    line: RoomLine


@dataclass(frozen=True, slots=True)
class Directive:
    """The controller directs."""

    directive: ToWorker
    seq: int
    nick: str
    msgid: str
    cause: str | None
    """msgid of the command behind it."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The controller took our directive of this msgid."""

    msgid: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """The controller does not accept our directive of this msgid."""

    msgid: str
    why: str


@dataclass(frozen=True, slots=True)
class ControllerHere:
    """The controller has joined our channel."""


@dataclass(frozen=True, slots=True)
class Ignore:
    """Nothing for a worker."""


Decision: TypeAlias = Line | Directive | Confirmation | Refusal | ControllerHere | Ignore


def decide(message: Message, room: Room) -> Decision:
    """What a live line means. Lines without an account mean nothing at all."""
    account = message.tags.get("account", "")
    target = message.params[0] if message.params else ""
    if message.command == "JOIN":
        joined = room.is_channel(target) and room.is_controller(account or message.nick)
        return ControllerHere() if joined else Ignore()
    if not account:
        return Ignore()
    if room.is_channel(target):
        line = room_line(message, room)
        return Line(line) if line else Ignore()
    if room.is_controller(account) and room.is_self(target):
        return _from_controller(message, room)
    return Ignore()


def room_line(message: Message, room: Room) -> RoomLine | None:
    """The line of a person in our channel; None for commands, bots, notices and strangers."""
    account = message.tags.get("account", "")
    if message.command != "PRIVMSG" or not account or _BOT_TAG in message.tags:
        return None
    if room.is_controller(account) or room.is_worker(account):
        return None
    text = strip_formatting(message.text).strip()
    if not text or is_command(text, room):
        return None
    return RoomLine(account, room.role(account), text, message.tags.get("msgid", ""))


def is_command(text: str, room: Room) -> bool:
    """`!word`, or `controller: word`: the controller's business, in chat and in memory."""
    lead = text[: len(room.controller)]
    addressed = fold(lead) == fold(room.controller) and text[len(lead) :][:1] in (":", ",")
    return text.startswith("!") or addressed


def _from_controller(message: Message, room: Room) -> Decision:
    reply = message.tags.get(REPLY_TAG)
    tag = parse_control_tag(message.tags.get(CONTROL_TAG, ""))
    if message.command == "PRIVMSG" and tag and _is_ours(tag, room):
        directive = parse_to_worker(message.text)
        return Directive(directive, tag.seq, message.nick, _msgid(message.tags), reply)
    if message.command == "TAGMSG" and reply:
        return Confirmation(reply)
    if message.command == "NOTICE" and reply:
        return Refusal(reply, message.text)
    return Ignore()


def _is_ours(tag: ControlTag, room: Room) -> bool:
    return (tag.task, tag.attempt) == (room.task, room.attempt)


def _msgid(tags: Mapping[str, str]) -> str:
    return tags.get("msgid", "")
