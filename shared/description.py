"""A task's description in METADATA: one JSON string in pieces, with count and checksum. Pure.

Wire form (design 4): `description.0` = `<count, three digits>:<crc32, eight hex digits>:` and the
first piece, `description.1` ... the rest. A reader that finds fewer pieces, or another checksum,
reads the newest tagged post of the description in the channel instead.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping

MAX_BYTES = 16_000
"""UTF-8 bytes of the JSON string; a longer description is refused whole."""
PIECE_BYTES = 336
"""ergo: key and value together at most 350 bytes; the longest key is `description.99`."""


class DescriptionDamaged(Exception):
    """The pieces do not make up the text of their checksum."""


def cut_bytes(text: str, budget_bytes: int) -> str:
    """The longest beginning of `text` that fits, whole characters; an ellipsis marks a cut."""
    raw = text.encode()
    if len(raw) <= budget_bytes:
        return text
    return raw[: budget_bytes - len("…".encode())].decode(errors="ignore") + "…"


def encode(text: str) -> str:
    """The JSON string that is stored, UTF-8, without `\\u` escapes for printable text."""
    return json.dumps(text, ensure_ascii=False)


def checksum(text: str) -> str:
    """crc32 of the stored form, eight hex digits."""
    return f"{zlib.crc32(encode(text).encode()):08x}"


def fits(text: str) -> bool:
    return len(encode(text).encode()) <= MAX_BYTES


def to_pieces(text: str) -> dict[str, str]:
    """METADATA key -> piece."""
    head_room = len("000:00000000:")
    pieces = list(_cut(encode(text), PIECE_BYTES - head_room))
    head = f"{len(pieces):03d}:{checksum(text)}:"
    return {f"description.{n}": (head if n == 0 else "") + p for n, p in enumerate(pieces)}


def from_pieces(values: Mapping[str, str]) -> str:
    """The description of a task's METADATA; "" if there is none.

    Raises DescriptionDamaged for missing pieces or a wrong checksum.
    """
    first = values.get("description.0")
    if first is None:
        return ""
    try:
        count, crc, piece = first.split(":", 2)
        rest = [values[f"description.{n}"] for n in range(1, int(count))]
        stored = piece + "".join(rest)
        text = json.loads(stored)
    except (KeyError, ValueError) as error:
        raise DescriptionDamaged(str(error)) from error
    if not isinstance(text, str) or checksum(text) != crc:
        raise DescriptionDamaged(f"checksum {crc} does not fit")
    return text


def surplus(values: Mapping[str, str], kept: Mapping[str, str]) -> list[str]:
    """Keys of pieces of an older, longer description."""
    return sorted(k for k in values if k.startswith("description.") and k not in kept)


def _cut(text: str, budget_bytes: int) -> list[str]:
    raw, pieces = text.encode(), []
    while raw:
        piece = raw[:budget_bytes].decode(errors="ignore")
        pieces.append(piece)
        raw = raw[len(piece.encode()) :]
    return pieces
