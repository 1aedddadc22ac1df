"""The numbered diff that people see of an edit (pure)."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_CONTEXT = 4


@dataclass(frozen=True, slots=True)
class LineDiff:
    """What changed, for displays."""

    text: str
    """`-12 old` with the old line number, `+12 new` with the new one, ` 11 same` around them."""
    first_changed_line: int
    """1-based, in the new text."""


def diff_lines(old: str, new: str) -> LineDiff:
    """Compare two different texts line by line, with four lines of context."""
    before, after = old.split("\n"), new.split("\n")
    # difflib is quadratic at worst: it gets only what lies between the first and the last change
    start = _common(before, after)
    end = min(_common(before[::-1], after[::-1]), len(before) - start, len(after) - start)
    first = max(start - _CONTEXT, 0)
    last = max(end - _CONTEXT, 0)
    old_part, new_part = before[first : len(before) - last], after[first : len(after) - last]
    text = "\n".join(_render(old_part, new_part, first + 1))
    return LineDiff(text, start + 1)


def _common(before: Sequence[str], after: Sequence[str]) -> int:
    pairs = enumerate(zip(before, after, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(before), len(after)))


def _render(before: Sequence[str], after: Sequence[str], base: int) -> Iterator[str]:
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=True)
    for number, group in enumerate(matcher.get_grouped_opcodes(_CONTEXT)):
        if number:
            yield " ..."
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                yield from _numbered(" ", after[new_from:new_to], base + new_from)
                continue
            yield from _numbered("-", before[old_from:old_to], base + old_from)
            yield from _numbered("+", after[new_from:new_to], base + new_from)


def _numbered(sign: str, lines: Sequence[str], first: int) -> Iterator[str]:
    for number, line in enumerate(lines, first):
        yield f"{sign}{number} {line.rstrip(chr(13))}"
