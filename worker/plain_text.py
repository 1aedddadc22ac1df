"""Text of models and tools as it may stand in a channel: no control, no bidi marks, no blank lines.

Pure. Line breaks stay; whoever sends cuts there.
"""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
_ESCAPE_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")


def plain(text: str) -> str:
    """What is left reads the same in every client."""
    text = _ESCAPE_SEQUENCE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    text = _CONTROL.sub("", text.replace("\t", "    "))
    return "\n".join(line.rstrip() for line in text.split("\n") if line.strip())


def chunks(text: str, max_bytes: int, max_lines: int, line_bytes: int) -> list[str]:
    """Cut a text at its line breaks so that each part fits one multiline message."""
    parts: list[list[str]] = [[]]
    size, lines = 0, 0
    for line in text.split("\n"):
        # a cut line takes more pieces than its bytes say, because cuts are made between words
        weight, pieces = len(line.encode()) + 1, 2 * (len(line.encode()) // line_bytes) + 1
        if parts[-1] and (size + weight > max_bytes or lines + pieces > max_lines):
            parts.append([])
            size, lines = 0, 0
        parts[-1].append(line)
        size, lines = size + weight, lines + pieces
    return ["\n".join(part) for part in parts if part]
