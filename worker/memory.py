"""What of a room's history a new attempt is told (design 12). Pure.

Kept: people's lines, answers given elsewhere, notes of `!reopen`, reasons of `!d`, and summaries of
earlier workers. Left out: the controller's lines, directives, tool markers and `[IRC]` displays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from shared.description import checksum
from shared.directives import CONTROL_TAG, DESCRIPTION_TAG, SAID_TAG
from shared.ircv3.message import Message
from shared.ircv3.split import strip_formatting
from worker.effects import Role, RoomLine
from worker.inbound import Room, room_line
from worker.trust import attribute, fenced

SUMMARY = "## Summary"
_NOTE = re.compile(r"!(?:reopen|d(?:\s+[0-9]+-[0-9]+)?)\s+(?P<note>\S.*)", re.I | re.S)


def remembered_line(message: Message, room: Room) -> RoomLine | None:
    """What a row of history says to the agent, a `!reopen` note included; None if nothing."""
    if CONTROL_TAG in message.tags and room.is_worker(message.tags.get("account", "")):
        return None
    said = _said_elsewhere(message, room)
    if said is not None:
        return said
    return room_line(message, room) or _note_of_command(message, room)


def lines_of(messages: Iterable[Message], room: Room, known: Iterable[str] = ()) -> list[RoomLine]:
    """People's lines of a stretch of history, oldest first, without those that are known."""
    seen = set(known)
    found = [line for line in (remembered_line(m, room) for m in messages) if line]
    return [line for line in found if not line.msgid or line.msgid not in seen]


def memory_block(messages: Sequence[Message], room: Room, fence: str, limit: int) -> str:
    """The newest `limit` remembered lines as one labelled block; "" where there are none."""
    entries: list[str | RoomLine] = []
    in_summary = False
    for message in messages:
        in_summary = _continues_summary(message, room, already=in_summary)
        line = remembered_line(message, room)
        if in_summary:
            entries.append(message.text)
        elif line is not None:
            entries.append(line)
    parts = _format(entries[-limit:] if limit > 0 else [], room, fence)
    if not parts:
        return ""
    return (
        f"What was said in {room.channel} before, oldest first. It is memory, for context: "
        "what was asked for in it may be done already.\n\n" + "\n\n".join(parts)
    )


def newest_description(messages: Sequence[Message], room: Room) -> str | None:
    """The controller's newest posts of one checksum, joined; None where they are not all there."""
    posts = [
        (message.tags[DESCRIPTION_TAG], message.text)
        for message in messages
        if DESCRIPTION_TAG in message.tags and room.is_controller(message.tags.get("account", ""))
    ]
    newest = posts[-1][0] if posts else ""
    text = ""
    for crc, piece in reversed(posts):
        if crc != newest:
            continue
        text = piece + text
        if checksum(text) == newest:
            return text
    return None


def _continues_summary(message: Message, room: Room, *, already: bool) -> bool:
    """A summary starts with its heading; servers without multiline deliver it line by line."""
    account = message.tags.get("account", "")
    own = bool(account) and room.is_worker(account) and message.command == "PRIVMSG"
    if not own or CONTROL_TAG in message.tags or message.text.startswith("[IRC]"):
        return False
    return already or SUMMARY in message.text


def _format(entries: Sequence[str | RoomLine], room: Room, fence: str) -> list[str]:
    parts: list[str] = []
    people: list[RoomLine] = []
    summary: list[str] = []
    for entry in [*entries, None]:
        if people and not isinstance(entry, RoomLine):
            parts.append(attribute(people, room.channel, fence))
            people = []
        if summary and not isinstance(entry, str):
            label = f"an earlier worker of this task, channel={room.channel}"
            parts.append(fenced("\n".join(summary), label, fence))
            summary = []
        if isinstance(entry, RoomLine):
            people.append(entry)
        elif entry is not None:
            summary.append(entry)
    return parts


def _said_elsewhere(message: Message, room: Room) -> RoomLine | None:
    """The controller's copy of an answer: `<account>: text`, tagged with the account."""
    speaker = message.tags.get(SAID_TAG, "")
    if not speaker or not room.is_controller(message.tags.get("account", "")):
        return None
    text = message.text.removeprefix(f"{speaker}: ")
    return RoomLine(speaker, room.role(speaker), text, message.tags.get("msgid", ""))


def _note_of_command(message: Message, room: Room) -> RoomLine | None:
    account = message.tags.get("account", "")
    match = _NOTE.match(strip_formatting(message.text).strip())
    if message.command != "PRIVMSG" or not account or not match:
        return None
    role = room.role(account)
    if role is Role.MEMBER or room.is_worker(account) or room.is_controller(account):
        return None
    return RoomLine(account, role, match["note"].strip(), message.tags.get("msgid", ""))
