"""The line codec for text: what may stand on a line, and where a long text is cut.

Budgets are bytes of UTF-8, because the server counts bytes; cuts are made between words, and
never within a character as a person sees it.
"""

from __future__ import annotations

import re
import unicodedata

_LINE_BYTES = 510  # RFC 1459: 512 with CRLF; tags have their own budget
_SMALLEST_BUDGET = 4  # the longest UTF-8 sequence

_NEWLINES = re.compile(r"[\r\n]+")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_FORMATTING = re.compile(
    r"\x03(?:\d{1,2}(?:,\d{1,2})?)?"
    r"|\x04(?:[0-9a-fA-F]{6}(?:,[0-9a-fA-F]{6})?)?"
    r"|[\x02\x0f\x11\x16\x1d\x1e\x1f]"
)
_UNSHOWN = re.compile(r"[\x00\x01\x04-\x08\x0b\x0c\x0e\x10\x12-\x15\x17-\x1c\x7f-\x9f]")
_DIRECTIONS = re.compile(r"[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_ZERO_WIDTH_JOINER = "\u200d"
_SKIN_TONES = range(0x1F3FB, 0x1F400)


def clean(text: str) -> str:
    """Make `text` one sendable line: newlines become a space, NUL goes, surrogates are replaced."""
    line = _NEWLINES.sub(" ", text.strip("\r\n")).replace("\0", "")
    return _SURROGATE.sub("\ufffd", line)


def strip_formatting(text: str) -> str:
    """Take out mIRC codes: bold, italics, colours with their digits, reverse, reset."""
    return _FORMATTING.sub("", text)


def harmless(text: str) -> str:
    """Take out what acts on a terminal or on the words after it: control characters, and changes of
    the direction of writing. Formatting codes stay, a tab becomes a space."""
    return _DIRECTIONS.sub("", _UNSHOWN.sub("", text.replace("\t", " ")))


def text_budget(source: str, command: str, target: str) -> int:
    """Bytes left for the text of `:source command target :text` as others receive it."""
    return _LINE_BYTES - len(f":{source} {command} {target} :".encode())


def split_text(text: str, budget_bytes: int) -> list[str]:
    """Cut `text` into lines of at most `budget_bytes`; newlines cut too, empty lines are left out.

    Nothing else is lost: a space at a cut stays at the end of its piece, so joining the pieces
    gives the line back.
    """
    if budget_bytes < _SMALLEST_BUDGET:
        raise ValueError(f"budget_bytes must be at least {_SMALLEST_BUDGET}, not {budget_bytes}")
    lines = _NEWLINES.split(_SURROGATE.sub("\ufffd", text.replace("\0", "")))
    return [piece for line in lines for piece in _split_line(line, budget_bytes)]


def _split_line(line: str, budget_bytes: int) -> list[str]:
    data = line.encode()
    pieces = []
    start = 0
    while len(data) - start > budget_bytes:
        end = _cut_point(data, start, start + budget_bytes)
        pieces.append(data[start:end].decode())
        start = end
    if start < len(data):
        pieces.append(data[start:].decode())
    return pieces


def _cut_point(data: bytes, start: int, end: int) -> int:
    """The best place in (start, end] to cut: after the last word, else between characters."""
    space = data.rfind(b" ", start, end)
    if space >= 0 and data[start:space].strip():
        return space + 1
    end = _character_start(data, end)
    whole = end
    while end > start and _within_a_cluster(data, start, end):
        end = _character_start(data, end - 1)
    return end if end > start else whole


def _character_start(data: bytes, index: int) -> int:
    while data[index] & 0xC0 == 0x80:  # a UTF-8 continuation byte
        index -= 1
    return index


def _within_a_cluster(data: bytes, start: int, cut: int) -> bool:
    """Whether a cut would part an accent, a joined emoji or a skin tone from its base."""
    before = data[_character_start(data, cut - 1) : cut].decode() if cut > start else ""
    after = data[cut : cut + 4].decode(errors="ignore")[0]
    if _ZERO_WIDTH_JOINER in (before, after) or ord(after) in _SKIN_TONES:
        return True
    return unicodedata.category(after) in ("Mn", "Me", "Mc")
