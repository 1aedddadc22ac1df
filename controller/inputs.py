"""What a line of the server means to the core, the same live and from history. Pure."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from controller.effects import Spoken, Telemetry
from controller.write_schedule import STANDARD_MODES
from shared.channels import is_channel
from shared.directives import CONTROL_TAG, TOOL_TAG
from shared.ircv3.casemap import fold
from shared.ircv3.chathistory import is_history_noise
from shared.ircv3.message import Message
from shared.ircv3.split import strip_formatting

_STATUS_PREFIXES = "~&@%+"
_KEPT_MODES = STANDARD_MODES | {"M"}
_CTCP = "\x01"


def unix_time(stamp: str) -> float | None:
    """Read a `time` tag, `2026-01-01T00:00:00.000Z`; None if it is none."""
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return None


def server_time(unix: float) -> str:
    """The form that CHATHISTORY takes: UTC, milliseconds."""
    stamp = datetime.fromtimestamp(max(0.0, unix), UTC).isoformat(timespec="milliseconds")
    return stamp.replace("+00:00", "Z")


def is_by(account: str, message: Message) -> bool:
    """Whether a line is of this account; lines without an account are nobody's."""
    author = message.tags.get("account")
    return author is not None and fold(author) == fold(account)


def spoken(message: Message, own_account: str, now: float, *, live: bool = True) -> Spoken | None:
    """A PRIVMSG of somebody else, without formatting codes; None for what nobody said to us.

    Lines of bots count only as directives: two bots must not talk each other round in circles.
    """
    if message.command != "PRIVMSG" or is_history_noise(message) or is_by(own_account, message):
        return None
    if "bot" in message.tags and CONTROL_TAG not in message.tags:
        return None
    text = _without_ctcp(message.text)
    if text is None:
        return None
    target = message.params[0].lstrip(_STATUS_PREFIXES)
    return Spoken(
        place=target if is_channel(target) else message.nick,
        nick=message.nick,
        account=message.tags.get("account"),
        text=strip_formatting(text),
        msgid=message.tags.get("msgid", ""),
        at=unix_time(message.tags.get("time", "")) or now,
        live=live,
        tags=message.tags,
    )


def touched(message: Message, own_nick: str) -> str | None:
    """The channel, if somebody else changes what is ours to keep of it: its topic or modes."""
    if fold(message.nick) == fold(own_nick) or len(message.params) < 2:
        return None
    ours = message.command == "MODE" and _KEPT_MODES & set(message.params[1])
    return message.params[0] if ours or message.command == "TOPIC" else None


def telemetry(message: Message) -> Telemetry | None:
    """A TAGMSG with `+ergonaut/tool={json}` and the control tag of its attempt."""
    account, tag = message.tags.get("account"), message.tags.get(CONTROL_TAG)
    if message.command != "TAGMSG" or account is None or tag is None:
        return None
    try:
        payload = json.loads(message.tags.get(TOOL_TAG, ""))
    except ValueError:
        return None
    return Telemetry(account, tag, payload) if isinstance(payload, dict) else None


def _without_ctcp(text: str) -> str | None:
    """The words of a CTCP ACTION (`/me`); None for other CTCP, which asks a client, not us."""
    if not text.startswith(_CTCP):
        return text
    verb, _, words = text.strip(_CTCP).partition(" ")
    return words if verb == "ACTION" else None
