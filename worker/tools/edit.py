"""The `edit` tool: exact replacements in a UTF-8 file, bytes in and bytes out.

A file that is not UTF-8 is refused rather than repaired: decoding it lossily and writing it back
would destroy what the model never saw.
"""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from worker.tools import ToolContext, ToolError, ToolResult, ToolSpec
from worker.tools.edit_args import parse_edits
from worker.tools.edit_match import Edit, apply_edits
from worker.tools.files import FileLocks, replace_file
from worker.tools.line_diff import diff_lines
from worker.tools.paths import explain, resolve_path
from worker.tools.truncate import human_size
from worker.tools.write import encode

SPEC = ToolSpec(
    name="edit",
    description=(
        "Replace texts in a file. Every `old` is looked for in the file as it is now, must be"
        " there exactly once (add lines around it until it is) and must not overlap another."
        " If one edit cannot be made, none is. Put all changes to one file into one call."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Absolute, or relative to the workspace"},
            "edits": {
                "type": "array",
                "description": "At least one; each with `old` and `new`",
                "items": {
                    "type": "object",
                    "properties": {"old": {"type": "string"}, "new": {"type": "string"}},
                },
            },
        },
        # no more than this: models also send the shapes that edit_args reads
        "required": ["path"],
    },
)

_MAX_FILE_BYTES = 50 * 1024 * 1024


class EditTool:
    """Shares its locks with `write`."""

    spec = SPEC

    def __init__(self, workspace: Path, locks: FileLocks) -> None:
        self._workspace = workspace
        self._locks = locks

    async def run(self, args: Mapping[str, object], context: ToolContext) -> ToolResult:
        """Make all edits or none; once begun it is not interrupted."""
        edits = parse_edits(args)
        for edit in edits:
            encode(edit.new)
        path = await asyncio.to_thread(resolve_path, args.get("path"), self._workspace)
        real_path = await asyncio.to_thread(os.path.realpath, path)
        async with self._locks.of(real_path):
            if context.aborted.is_set():
                raise ToolError(f"aborted: {path} was not changed")
            return await asyncio.to_thread(_edit, Path(real_path), edits)


def _edit(path: Path, edits: Sequence[Edit]) -> ToolResult:
    try:
        data = _load(path)
        bom, text = _decode(path, data)
        result = apply_edits(text, [_without_bom(edit) for edit in edits])
        diff = diff_lines(text, result)
        replace_file(path, bom + result.encode())
    except OSError as error:
        raise explain(error, path) from error
    count = "1 replacement" if len(edits) == 1 else f"{len(edits)} replacements"
    details = {"diff": diff.text, "first_changed_line": diff.first_changed_line}
    return ToolResult(f"Made {count} in {path}", details=details)


def _load(path: Path) -> bytes:
    if path.is_dir():
        raise ToolError(f"{path}: Is a directory (EISDIR)")
    if path.exists() and not path.is_file():
        raise ToolError(f"{path}: not a regular file")
    size = path.stat().st_size
    if size > _MAX_FILE_BYTES:
        raise ToolError(f"{path}: {human_size(size)} is too large to edit; use bash, e.g. sed -i")
    return path.read_bytes()


def _decode(path: Path, data: bytes) -> tuple[bytes, str]:
    """The byte order mark, if any, and the text behind it."""
    bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    try:
        return bom, data[len(bom) :].decode()
    except UnicodeDecodeError as error:
        position = error.start + len(bom)
        raise ToolError(
            f"{path}: not valid UTF-8 (byte 0x{data[position]:02x} at {position}); the file was not"
            " changed. Use bash for it, e.g. iconv or a script that works on bytes"
        ) from error


def _without_bom(edit: Edit) -> Edit:
    """A mark copied from what `read` showed is not part of the text to be matched."""
    if not edit.old.startswith("\ufeff"):
        return edit
    return Edit(edit.old.removeprefix("\ufeff"), edit.new.removeprefix("\ufeff"))
