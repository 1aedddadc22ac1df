"""Finds the old texts of an edit in a file and splices the new ones in (pure).

All edits are matched against the original text; only the matched spans change, every other byte
stays. Matching sees CRLF (and CR, in a file without LF) as LF; new line breaks take the ending of
the line where the match starts. A text that is not found exactly is looked for once more in its
folded form.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from worker.tools import ToolError
from worker.tools.folding import BLANKS, Folded, fold


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace `old`, which must be there exactly once, by `new`."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Span:
    """Where one edit goes, in characters of the original text."""

    number: int
    """Index of the edit, for messages."""
    start: int
    end: int
    replacement: str


class Original:
    """A file's text, with its line ends seen as LF."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.has_lone_cr_only = "\r" in text and "\n" not in text
        self.lf_text = text.replace("\r", "\n") if self.has_lone_cr_only else lf(text)
        self._crlf = [] if self.has_lone_cr_only else _crlf_positions(text)
        self._folded: Folded | None = None

    def original_position(self, position: int) -> int:
        """From an index into the LF text to one into the real text."""
        return position + bisect_left(self._crlf, position)

    def ending_at(self, position: int) -> str:
        """The line end in use where the match starts; that of the line before in a last line."""
        if self.has_lone_cr_only:
            return "\r"
        newline = self.lf_text.find("\n", position)
        if newline < 0:
            newline = self.lf_text.rfind("\n")
        index = bisect_left(self._crlf, newline)
        is_crlf = index < len(self._crlf) and self._crlf[index] == newline
        return "\r\n" if is_crlf else "\n"

    def line_number(self, position: int) -> int:
        """1-based line of an index into the LF text."""
        return self.lf_text.count("\n", 0, position) + 1

    def folded(self) -> Folded:
        """Made on first use: most edits match exactly."""
        if self._folded is None:
            self._folded = fold(self.lf_text)
        return self._folded


def lf(text: str) -> str:
    """The text with CRLF as LF."""
    return text.replace("\r\n", "\n")


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """The text with all edits made, or ToolError naming the edit that cannot be."""
    if not edits:
        raise ToolError("edits: none given; send at least one {old, new}")
    original = Original(text)
    spans = [_locate(original, number, edit) for number, edit in enumerate(edits)]
    result = _splice(text, sorted(spans, key=lambda span: (span.start, span.end)))
    if result == text:
        raise ToolError("edits: the file would not change")
    return result


def _locate(original: Original, number: int, edit: Edit) -> Span:
    old = lf(edit.old)
    if not old:
        raise ToolError(f"edits[{number}]: old is empty; give the text to be replaced")
    if edit.old == edit.new:
        raise ToolError(f"edits[{number}]: old and new are the same")
    hits = _occurrences(original.lf_text, old)
    ends = [hit + len(old) for hit in hits]
    if not hits:
        hits, ends = _fuzzy_occurrences(original.folded(), old)
    if len(hits) != 1:
        raise ToolError(f"edits[{number}]: {_why_not(original, hits)}")
    ending = original.ending_at(hits[0])
    return Span(
        number,
        original.original_position(hits[0]),
        original.original_position(ends[0]),
        lf(edit.new).replace("\n", ending),
    )


def _why_not(original: Original, hits: list[int]) -> str:
    if not hits:
        return (
            "old was not found; it must be the file's text, blanks and line breaks included."
            " Read the file again and copy it"
        )
    lines = [str(original.line_number(hit)) for hit in hits[:10]]
    dots = ", …" if len(hits) > len(lines) else ""
    return (
        f"old was found {len(hits)} times (lines {', '.join(lines)}{dots}); add lines around it"
        " until it is there once"
    )


def _occurrences(text: str, wanted: str) -> list[int]:
    """All starts, overlapping ones included: each would be a different edit."""
    hits = []
    position = text.find(wanted)
    while position >= 0:
        hits.append(position)
        position = text.find(wanted, position + 1)
    return hits


def _fuzzy_occurrences(folded: Folded, old: str) -> tuple[list[int], list[int]]:
    wanted = fold(old).text
    if not wanted.strip():
        return [], []
    # "x = 1 " folded to "x = 1" must not match the beginning of "x = 10"
    must_end_line = old[-1] in BLANKS and wanted[-1] not in BLANKS
    starts, ends = [], []
    for hit in _occurrences(folded.text, wanted):
        end = hit + len(wanted)
        if must_end_line and folded.text[end : end + 1] not in ("", "\n"):
            continue
        if _splits_sign(folded, hit) or _splits_sign(folded, end):
            continue
        starts.append(folded.origin[hit])
        ends.append(folded.origin[end])
    return starts, ends


def _splits_sign(folded: Folded, position: int) -> bool:
    """The position lies within what was one sign, as in the "fi" of a ligature."""
    return position > 0 and folded.origin[position] == folded.origin[position - 1]


def _crlf_positions(text: str) -> list[int]:
    """Indexes into the LF text of the line ends that are CRLF."""
    found = (match.start() for match in re.finditer("\r\n", text))
    return [position - earlier for earlier, position in enumerate(found)]


def _splice(text: str, spans: Sequence[Span]) -> str:
    pieces: list[str] = []
    position = 0
    previous: Span | None = None
    for span in spans:
        if previous is not None and span.start < position:
            first, second = sorted((previous.number, span.number))
            raise ToolError(f"edits[{first}] and edits[{second}] overlap; merge them into one edit")
        pieces += (text[position : span.start], span.replacement)
        position = span.end
        previous = span
    return "".join([*pieces, text[position:]])
