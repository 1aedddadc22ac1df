"""The `read` tool: a page of a text file, with memory bounded by the page and not by the file."""

from __future__ import annotations

import asyncio
import codecs
import os
import shlex
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from worker.tools import ToolContext, ToolError, ToolResult, ToolSpec
from worker.tools.paths import explain, resolve_path
from worker.tools.truncate import MAX_BYTES, MAX_LINES, Head, HeadWindow, human_size

SPEC = ToolSpec(
    name="read",
    description=(
        "Read a text file. Shows at most 2,000 lines or 50 KiB from `offset` on and says how to go"
        " on. Use it rather than cat or sed."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Absolute, or relative to the workspace"},
            "offset": {"type": "integer", "minimum": 1, "description": "First line, 1-based"},
            "limit": {"type": "integer", "minimum": 1, "description": "How many lines at most"},
        },
        "required": ["path"],
    },
)

_CHUNK_BYTES = 64 * 1024
_SNIFF_BYTES = 8 * 1024
_IMAGE_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"GIF87a": "GIF",
    b"GIF89a": "GIF",
    b"RIFF": "WebP",
    b"BM": "BMP",
}


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of which file is wanted."""

    path: Path
    offset: int
    limit: int | None


class ReadTool:
    """Reads in a thread, so that a slow disk holds up this call alone."""

    spec = SPEC

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace

    async def run(self, args: Mapping[str, object], context: ToolContext) -> ToolResult:
        """Answer with the page, or raise ToolError."""
        offset = _positive(args, "offset") or 1
        limit = _positive(args, "limit")

        def work() -> ToolResult:
            page = Page(resolve_path(args.get("path"), self._workspace), offset, limit)
            return read_page(page, context.aborted.is_set)

        return await asyncio.to_thread(work)


def read_page(page: Page, is_aborted: Callable[[], bool]) -> ToolResult:
    """Read one page; refuses what is no regular file."""
    try:
        descriptor = _open_regular(page.path)
        try:
            return _read(page, descriptor, is_aborted)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise explain(error, page.path) from error


def _positive(args: Mapping[str, object], name: str) -> int | None:
    value = args.get(name)
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ToolError(f"{name}: a whole number of at least 1 is needed, not {value!r}")
    return value


def _open_regular(path: Path) -> int:
    # O_NONBLOCK: opening a FIFO nobody writes to would hang for ever
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise ToolError(f"{path}: Is a directory (EISDIR); list it with bash: ls")
    raise ToolError(f"{path}: not a regular file; read it with bash if it must be")


def _chunks(descriptor: int, is_aborted: Callable[[], bool]) -> Iterator[bytes]:
    """Up to the size at open, so that a growing log ends; /proc shows size 0: up to EOF."""
    size = os.fstat(descriptor).st_size
    left = size
    while size == 0 or left > 0:
        if is_aborted():
            raise ToolError("aborted while reading")
        chunk = os.read(descriptor, _CHUNK_BYTES if size == 0 else min(_CHUNK_BYTES, left))
        if not chunk:
            return
        left -= len(chunk)
        yield chunk


def _read(page: Page, descriptor: int, is_aborted: Callable[[], bool]) -> ToolResult:
    limit = MAX_LINES if page.limit is None else page.limit
    window = HeadWindow(page.offset, limit)
    decoder = codecs.getincrementaldecoder("utf-8")()
    is_utf8 = True
    for number, chunk in enumerate(_chunks(descriptor, is_aborted)):
        if number == 0 and b"\0" in chunk[:_SNIFF_BYTES]:
            return _describe_binary(chunk, os.fstat(descriptor).st_size)
        window.feed(chunk)
        is_utf8 = is_utf8 and _decodes(decoder, chunk)
    is_utf8 = is_utf8 and _decodes(decoder, b"", final=True)
    return _render(page, window.finish(), is_utf8=is_utf8)


def _decodes(decoder: codecs.IncrementalDecoder, chunk: bytes, *, final: bool = False) -> bool:
    try:
        decoder.decode(chunk, final)
    except UnicodeDecodeError:
        return False
    return True


def _describe_binary(head: bytes, size: int) -> ToolResult:
    """Kind by bytes, never by the file's name."""
    kind = next((name for magic, name in _IMAGE_MAGIC.items() if head.startswith(magic)), None)
    what = f"{kind} image" if kind else "Binary file"
    return ToolResult(f"[{what}, {human_size(size)}; not shown. Use bash to examine it.]")


def _render(page: Page, head: Head, *, is_utf8: bool) -> ToolResult:
    if page.offset > max(head.total_lines, 1):
        raise ToolError(f"offset {page.offset} is past the end: {page.path} has {_lines(head)}")
    if head.long_line_bytes:
        text = _long_line_hint(page)
        return ToolResult(text, details={"truncated": True, "total_lines": head.total_lines})
    notes = [] if is_utf8 else ["[Not valid UTF-8: bad bytes are shown as \ufffd; edit refuses it]"]
    last = page.offset + head.shown_lines - 1
    truncated = False
    if last < head.total_lines:
        truncated = page.limit is None or head.shown_lines < page.limit
        notes.insert(0, _more(page, head, last, truncated=truncated))
    if head.total_lines == 0:
        notes.append("[The file is empty]")
    text = "\n\n".join(filter(None, [head.text, *notes]))
    details = {"truncated": True, "total_lines": head.total_lines} if truncated else None
    return ToolResult(text, details=details)


def _more(page: Page, head: Head, last: int, *, truncated: bool) -> str:
    if not truncated:
        return f"[{head.total_lines - last} more lines; go on with offset={last + 1}]"
    cap = "2,000 lines" if head.shown_lines == MAX_LINES else f"{human_size(MAX_BYTES)}"
    shown = f"lines {page.offset}-{last} of {head.total_lines}"
    return f"[Showing {shown} (cut at {cap}); go on with offset={last + 1}]"


def _long_line_hint(page: Page) -> str:
    command = f"sed -n {page.offset}p {shlex.quote(str(page.path))} | head -c {MAX_BYTES}"
    return (
        f"[Line {page.offset} is larger than {human_size(MAX_BYTES)}; nothing shown. Use bash:"
        f" {command}]"
    )


def _lines(head: Head) -> str:
    return "1 line" if head.total_lines == 1 else f"{head.total_lines} lines"
