"""Which state write of a channel goes next, and when (design 4). Pure: time is an argument.

Writes to one registered channel that follow each other too closely can crash ergo, so the next one
goes only after the reply to the last and a pause.
"""

from __future__ import annotations

from dataclasses import dataclass

from shared.ircv3.message import Message
from shared.ircv3.metadata import metadata_set

PAUSE_SECONDS = 0.05
STANDARD_MODES = frozenset("nt")
"""Of every channel of ours: no outsiders' lines, topic by operators only."""


@dataclass(frozen=True, slots=True)
class Write:
    """One state write. A later one with the same key replaces a queued one."""

    key: str
    """What is set: `metadata status`, `topic`, `mode M` ..."""
    message: Message
    once: bool = False
    """Not sent again while it stands: topics and modes, each of which is a row of history."""


def metadata_write(channel: str, key: str, value: str | None) -> Write:
    return Write(f"metadata {key}", metadata_set(channel, key, value))


def topic_write(channel: str, topic: str) -> Write:
    return Write("topic", Message("TOPIC", (channel, topic)), once=True)


def mode_write(channel: str, letter: str, *, on: bool) -> Write:
    sign = "+" if on else "-"
    return Write(f"mode {letter}", Message("MODE", (channel, f"{sign}{letter}")), once=True)


def chanserv_write(channel: str, verb: str, *words: str) -> Write:
    return Write(" ".join(("CS", verb, *words)), Message("CS", (verb, channel, *words)))


class WriteSchedule:
    """The queue of one channel: at most one write is under way."""

    def __init__(self) -> None:
        self._queued: dict[str, Write] = {}
        self._stands: dict[str, Message] = {}
        self._under_way: Write | None = None
        self._free_at = 0.0

    def put(self, write: Write) -> None:
        """Queue it; in the place of a queued one with its key, which is then never sent."""
        self._queued[write.key] = write

    def next_at(self) -> float | None:
        """When `take` gives something; None while a reply is awaited or nothing is queued."""
        return self._free_at if self._queued and self._under_way is None else None

    def take(self, now: float) -> Write | None:
        """The write to send now, if any."""
        if not self._queued or self._under_way is not None or now < self._free_at:
            return None
        self._under_way = self._queued.pop(next(iter(self._queued)))
        return self._under_way

    def is_right(self, write: Write) -> bool:
        """Whether what it would set is set already."""
        return write.once and self._stands.get(write.key) == write.message

    def note(self, write: Write) -> None:
        """Remember what was read from the server, or set by us."""
        self._stands[write.key] = write.message

    def forget(self) -> None:
        """Somebody else has changed the channel: what stood there may not stand any more."""
        self._stands.clear()

    def skipped(self) -> None:
        """The write that was taken needed no sending."""
        self._under_way = None

    def replied(self, now: float, *, accepted: bool) -> None:
        """The server has answered the write that was taken."""
        if self._under_way is not None:
            self._stands.pop(self._under_way.key, None)
            if accepted:
                self.note(self._under_way)
        self._under_way = None
        self._free_at = now + PAUSE_SECONDS
