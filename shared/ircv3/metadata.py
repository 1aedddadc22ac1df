"""METADATA: keys and values on channels, in the dialects of ergo 2.18 and 2.19.

The older one pushes `METADATA #c key * value`, the newer `761 * #c key * value`; both are read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shared.ircv3.message import Message, ProtocolError
from shared.ircv3.split import clean

MAX_ENTRY_BYTES = 350
"""Key and value together; hard-coded in ergo."""

_KEY = re.compile(r"[a-z0-9_./-]+")
_ABSENT_CODES = frozenset({"KEY_NOT_SET", "NO_MATCHING_KEY"})


@dataclass(frozen=True, slots=True)
class MetadataChange:
    """What one line says about one key."""

    target: str
    key: str
    value: str | None
    """None when the key is absent: never set, deleted, or stored empty."""


def metadata_set(target: str, key: str, value: str | None) -> Message:
    """`METADATA target SET key :value`; None or "" deletes by leaving the value out.

    ergo 2.18 would store an empty value where 2.19 deletes, so an empty one is never sent.
    """
    if not _KEY.fullmatch(key):
        raise ProtocolError(f"METADATA key {key!r} may hold only a-z 0-9 _ . / -")
    if not value:
        return Message("METADATA", (target, "SET", key))
    if value != clean(value):
        raise ProtocolError(f"METADATA {key}: a value is one line without NUL; clean it first")
    size = len(key.encode()) + len(value.encode())
    if size > MAX_ENTRY_BYTES:
        raise ProtocolError(
            f"METADATA {key}: key and value are {size} bytes, at most {MAX_ENTRY_BYTES} fit"
        )
    return Message("METADATA", (target, "SET", key, value))


def metadata_get(target: str, *keys: str) -> Message:
    """`METADATA target GET key ...`."""
    return Message("METADATA", (target, "GET", *keys))


def metadata_list(target: str) -> Message:
    """`METADATA target LIST`: answered by a batch of 761."""
    return Message("METADATA", (target, "LIST"))


def metadata_subscribe(*keys: str) -> Message:
    """`METADATA * SUB key ...`: from then on changes of these keys are pushed."""
    return Message("METADATA", ("*", "SUB", *keys))


def parse_metadata(message: Message) -> MetadataChange | None:
    """Read 761 (a value), 766 (absent) or a pushed METADATA line; None for any other line."""
    match message.command, message.params:
        case "761", (_, target, key, _, *value):
            return MetadataChange(target, key, _present(value))
        case "766", (_, target, key, *_):
            return MetadataChange(target, key, None)
        case "METADATA", (target, key, _, *value):
            return MetadataChange(target, key, _present(value))
        case _:
            return None


def _present(value: list[str]) -> str | None:
    return (value[0] or None) if value else None


def means_absent(message: Message) -> bool:
    """Whether a line says that a key is not there: 766, or the older `FAIL METADATA KEY_NOT_SET`.

    Deleting what is absent is no failure, though 2.18 answers it with a FAIL.
    """
    if message.command == "766":
        return True
    return message.command == "FAIL" and bool(_ABSENT_CODES.intersection(message.params[1:2]))
