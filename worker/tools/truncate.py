"""How much of a text the model gets to see, and where the cut falls (pure).

Two caps, whichever comes first: 2,000 lines or 50 KiB of UTF-8. A trailing newline is not a line,
lines end at LF only, and no cut splits a UTF-8 sequence. Files are cut at the end, output at the
start, both with memory bounded by the caps whatever their size.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass

MAX_LINES = 2_000
MAX_BYTES = 50 * 1024


def human_size(size: int) -> str:
    """Bytes as B, KB or MB with one decimal, as the notices show them."""
    if size < 1024:
        return f"{size}B"
    if size < 1024 * 1024:
        return f"{size / 1024:.1f}KB"
    return f"{size / 1024 / 1024:.1f}MB"


@dataclass(frozen=True, slots=True)
class Head:
    """The part of a file that is shown."""

    text: str
    """Whole lines without the line end of the last one, unless the file ends there."""
    shown_lines: int
    total_lines: int
    long_line_bytes: int = 0
    """Over 0: nothing is shown because the first wanted line alone is at least this large."""


class HeadWindow:
    """Collects the first lines from `first_line` (1-based) on, and counts all lines."""

    def __init__(self, first_line: int, max_lines: int) -> None:
        self._skip = first_line - 1
        self._first_line = first_line
        self._max_lines = min(max_lines, MAX_LINES)
        self._window = bytearray()
        self._newlines = 0
        self._open_line = False
        self._whole = True

    def feed(self, chunk: bytes) -> None:
        """Take the next piece of the file."""
        if not chunk:
            return
        self._newlines += chunk.count(b"\n")
        self._open_line = not chunk.endswith(b"\n")
        self._collect(chunk[self._skipped(chunk) :])

    def finish(self) -> Head:
        """Cut at whole lines, once the file has ended."""
        total = self._newlines + self._open_line
        pieces = bytes(self._window).split(b"\n")
        shown: list[str] = []
        size = 0
        available = min(self._max_lines, max(total - self._first_line + 1, 0))
        for index, piece in enumerate(pieces[:available]):
            complete = self._whole or index < len(pieces) - 1
            line = piece.decode("utf-8", "replace")
            size += len(line.encode()) + bool(shown)
            if size > MAX_BYTES or not complete:
                break
            shown.append(line)
        if available and not shown:
            return Head("", 0, total, long_line_bytes=max(len(pieces[0]), MAX_BYTES + 1))
        at_end = self._first_line - 1 + len(shown) == total and not self._open_line and shown
        return Head("\n".join(shown) + ("\n" if at_end else ""), len(shown), total)

    def _skipped(self, chunk: bytes) -> int:
        """Where the wanted part of this piece begins; piece by piece up to the first line."""
        if self._skip == 0:
            return 0
        newlines = chunk.count(b"\n")
        if newlines < self._skip:
            self._skip -= newlines
            return len(chunk)
        position = -1
        for _ in range(self._skip):
            position = chunk.index(b"\n", position + 1)
        self._skip = 0
        return position + 1

    def _collect(self, part: bytes) -> None:
        room = MAX_BYTES + 1 - len(self._window)
        self._whole = self._whole and len(part) <= room
        self._window += part[:room]


@dataclass(frozen=True, slots=True)
class Tail:
    """The part of a command's output that is shown."""

    text: str
    first_line: int
    """1-based number of the first line shown."""
    total_lines: int
    total_bytes: int
    last_line_bytes: int
    """Size of the last line; the text is a part of it alone when `is_partial_line`."""
    is_cut: bool
    is_partial_line: bool = False


class TailBuffer:
    """Decodes output as it arrives and keeps its end."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept = bytearray()
        self._newlines = 0
        self._total_bytes = 0
        self._last_line_bytes = 0
        self._ends_with_newline = False

    @property
    def is_over(self) -> bool:
        """More has arrived than will be shown."""
        return self._total_bytes > MAX_BYTES or self._total_lines > MAX_LINES

    @property
    def _total_lines(self) -> int:
        return self._newlines + (self._total_bytes > 0 and not self._ends_with_newline)

    def feed(self, chunk: bytes, *, final: bool = False) -> None:
        """Take the next bytes; `final` completes a sequence that was cut off."""
        data = self._decoder.decode(chunk, final).encode()
        if not data:
            return
        self._count(data)
        self._kept += data
        if len(self._kept) > 4 * MAX_BYTES:
            del self._kept[: len(self._kept) - 2 * MAX_BYTES]

    def tail(self) -> Tail:
        """The end of what has arrived so far."""
        body = bytes(self._kept[-2 * MAX_BYTES :])
        if self._ends_with_newline:
            body = body[:-1]
        if not self.is_over:
            return self._make(body, first_line=1, is_cut=False)
        lines = body.split(b"\n")
        start = _tail_start(lines)
        if start == len(lines):
            part = _cut_front(lines[-1])
            return self._make(part, self._total_lines, is_cut=True, is_partial_line=True)
        shown = lines[start:]
        return self._make(b"\n".join(shown), self._total_lines - len(shown) + 1, is_cut=True)

    def _count(self, data: bytes) -> None:
        self._total_bytes += len(data)
        self._newlines += data.count(b"\n")
        # the last line of "a\nb\n" is "b": its own newline does not begin a new one
        carried = 0 if self._ends_with_newline else self._last_line_bytes
        self._ends_with_newline = data.endswith(b"\n")
        body = data[:-1] if self._ends_with_newline else data
        position = body.rfind(b"\n")
        self._last_line_bytes = carried + len(body) if position < 0 else len(body) - position - 1

    def _make(
        self, body: bytes, first_line: int, *, is_cut: bool, is_partial_line: bool = False
    ) -> Tail:
        return Tail(
            body.decode("utf-8", "replace"),
            first_line,
            self._total_lines,
            self._total_bytes,
            self._last_line_bytes,
            is_cut,
            is_partial_line,
        )


def _tail_start(lines: list[bytes]) -> int:
    """Index of the first line that still fits, counted from the end."""
    size = -1
    start = len(lines)
    while start > 0 and len(lines) - start < MAX_LINES:
        size += len(lines[start - 1]) + 1
        if size > MAX_BYTES:
            break
        start -= 1
    return start


def _cut_front(line: bytes) -> bytes:
    part = line[-MAX_BYTES:]
    while part and part[0] & 0xC0 == 0x80:
        part = part[1:]
    return part
