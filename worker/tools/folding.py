"""The form in which texts are compared when they do not match exactly (pure).

NFKC, blanks at line ends ignored, curly quotes, dashes and odd spaces made plain: what models
change when they copy. Each folded character knows where it came from, so that a match in the
folded text changes nothing but its own span in the real one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

BLANKS = " \t\u00a0\u3000"
_PLAIN = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u00a0\u2002\u2003\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " ")
)
# a base sign and the marks on it are normalized together, as NFKC would in the whole text
_CLUSTER = re.compile("(?s).[\u0300-\u036f\u1ab0-\u1aff\u20d0-\u20ff\ufe20-\ufe2f]*")


@dataclass(frozen=True, slots=True)
class Folded:
    """A text in folded form, and where each of its characters began in the text."""

    text: str
    origin: Sequence[int]
    """One entry per folded character and one for the end."""


def fold(text: str) -> Folded:
    """NFKC, plain quotes, dashes and spaces, no blanks at line ends."""
    pieces: list[str] = []
    origin: list[int] = []
    start = 0
    for line in text.split("\n"):
        if start:
            pieces.append("\n")
            origin.append(start - 1)
        _fold_line(line, start, pieces, origin)
        start += len(line) + 1
    origin.append(len(text))
    return Folded("".join(pieces), origin)


def _fold_line(line: str, start: int, pieces: list[str], origin: list[int]) -> None:
    line = line.rstrip(BLANKS)
    if line.isascii():
        pieces.append(line)
        origin.extend(range(start, start + len(line)))
        return
    for cluster in _CLUSTER.finditer(line):
        plain = unicodedata.normalize("NFKC", cluster[0].translate(_PLAIN)).translate(_PLAIN)
        pieces.append(plain)
        origin.extend([start + cluster.start()] * len(plain))
