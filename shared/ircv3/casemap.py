"""Folding of nicks and channel names by ISUPPORT CASEMAPPING, so that dictionary keys compare.

Folding is for keys alone: what people read keeps its spelling.
"""

from __future__ import annotations

from string import ascii_lowercase, ascii_uppercase
from typing import NewType

Folded = NewType("Folded", str)
"""A name after `fold`; only these are compared or used as keys."""

_TABLES = {
    "ascii": str.maketrans(ascii_uppercase, ascii_lowercase),
    "rfc1459": str.maketrans(ascii_uppercase + "[]\\~", ascii_lowercase + "{}|^"),
    "rfc1459-strict": str.maketrans(ascii_uppercase + "[]\\", ascii_lowercase + "{}|"),
}


def fold(name: str, mapping: str = "ascii") -> Folded:
    """Lower-case `name` as the server does; an unknown mapping folds as ergo's own, ascii."""
    return Folded(name.translate(_TABLES.get(mapping, _TABLES["ascii"])))
