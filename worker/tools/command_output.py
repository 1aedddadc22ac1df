"""Takes a command's output as it comes: the end in memory, the whole in a file, news now and then.

Nothing is cleaned here: escape codes and NUL are part of what the command said. What goes to IRC is
cleaned on the way there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from worker.tools.spill import MAX_FILE_BYTES, SpillFile, SpillFolder
from worker.tools.truncate import MAX_BYTES, Tail, TailBuffer, human_size

_UPDATE_SECONDS = 0.1


class CommandOutput:
    """The sink of one command."""

    def __init__(self, spills: SpillFolder, on_update: Callable[[str], None]) -> None:
        self._buffer = TailBuffer()
        self._spills = spills
        self._on_update = on_update
        self._early = bytearray()
        self._next_update: asyncio.TimerHandle | None = None
        self.spill: SpillFile | None = None

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._buffer.feed(chunk)
        if self.spill is None:
            self._early += chunk
            if self._buffer.is_over:
                self.spill = self._spills.create()
                self.spill.write(bytes(self._early))
                self._early.clear()
        else:
            self.spill.write(chunk)
        if self._next_update is None:
            loop = asyncio.get_running_loop()
            self._next_update = loop.call_later(_UPDATE_SECONDS, self._update)

    def finish(self) -> Tail:
        """No update comes after this."""
        if self._next_update is not None:
            self._next_update.cancel()
        self._buffer.feed(b"", final=True)
        if self.spill is not None:
            self.spill.close()
        return self._buffer.tail()

    def _update(self) -> None:
        self._next_update = None
        self._on_update(self._buffer.tail().text)


def describe_cut(tail: Tail, spill: SpillFile | None) -> str:
    """What of the output is shown and where the rest is; empty if all is shown."""
    if not tail.is_cut:
        return ""
    where = "The rest was not kept"
    if spill is not None:
        what = "Full output" if spill.is_whole else f"First {human_size(MAX_FILE_BYTES)} of it"
        where = f"{what}: {spill.path}"
    if tail.is_partial_line:
        shown = (
            f"the last {human_size(MAX_BYTES)} of line {tail.total_lines}"
            f" (the line has {human_size(tail.last_line_bytes)})"
        )
    else:
        shown = f"lines {tail.first_line}-{tail.total_lines} of {tail.total_lines}"
    return f"[Showing {shown}, {human_size(tail.total_bytes)} in all. {where}]"
