"""From a line to a command: `!word args`, `controller: word args`, or bare in a DM. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from controller.effects import Spoken
from shared.channels import is_channel, parse_task_channel
from shared.ircv3.split import strip_formatting

_WORD = re.compile(r"(?P<word>[A-Za-z][A-Za-z-]*)(?:\s+(?P<args>.*))?", re.S)
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")


@dataclass(frozen=True, slots=True)
class Parsed:
    """A line that asks for something."""

    word: str
    """Lower case."""
    args: str
    """Outer white space taken off, the rest as typed."""
    explicit: bool
    """False = a bare line of a DM."""


def parse_command(line: Spoken, own_nick: str) -> Parsed | None:
    """Read a line; None if it is ordinary talk. Formatting codes do not matter."""
    text = strip_formatting(line.text).strip()
    addressed = re.match(re.escape(own_nick) + r"[:,]\s*", text, re.I)
    rest = text[addressed.end() :] if addressed else text
    explicit = addressed is not None or rest.startswith("!")
    if not explicit and is_channel(line.place):
        return None
    match = _WORD.fullmatch(rest.removeprefix("!"))
    if match is None:
        return None
    return Parsed(match["word"].lower(), (match["args"] or "").strip(), explicit)


def parse_task_number(text: str) -> int | None:
    """Read `12`, `task-12`, `#task-12` or `#web-task-12`."""
    if _NUMBER.fullmatch(text):
        return int(text)
    channel = parse_task_channel(text if text.startswith("#") else f"#{text}")
    return channel.number if channel else None
