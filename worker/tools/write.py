"""The `write` tool: a whole file, byte for byte as given, put in place by a rename."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from worker.tools import ToolContext, ToolError, ToolResult, ToolSpec
from worker.tools.files import FileLocks, replace_file
from worker.tools.paths import explain, resolve_path

SPEC = ToolSpec(
    name="write",
    description=(
        "Create a file or replace it whole. Parent folders are made. Use edit for changes to a"
        " file that exists."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Absolute, or relative to the workspace"},
            "content": {"type": "string", "description": "The whole text, written as UTF-8"},
        },
        "required": ["path", "content"],
    },
)


class WriteTool:
    """Shares its locks with `edit`."""

    spec = SPEC

    def __init__(self, workspace: Path, locks: FileLocks) -> None:
        self._workspace = workspace
        self._locks = locks

    async def run(self, args: Mapping[str, object], context: ToolContext) -> ToolResult:
        """Replace the file; once begun it is not interrupted, so the answer is always true."""
        content = encode(args.get("content"))
        path = await asyncio.to_thread(resolve_path, args.get("path"), self._workspace)
        real_path = await asyncio.to_thread(os.path.realpath, path)
        async with self._locks.of(real_path):
            if context.aborted.is_set():
                raise ToolError(f"aborted: {path} was not written")
            await asyncio.to_thread(_write, Path(real_path), content)
        return ToolResult(f"Wrote {path}")


def encode(content: object) -> bytes:
    """UTF-8 of the content argument."""
    if not isinstance(content, str):
        raise ToolError("content: a string is needed")
    try:
        return content.encode()
    except UnicodeEncodeError as error:
        raise ToolError(
            f"content: half a surrogate pair at position {error.start} cannot be written as"
            " UTF-8; send the whole character"
        ) from error


def _write(real_path: Path, content: bytes) -> None:
    try:
        real_path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(real_path, content)
    except OSError as error:
        raise explain(error, real_path) from error
