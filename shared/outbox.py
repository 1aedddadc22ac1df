"""Sending directives until they are confirmed, and taking each only once (design 6). Pure.

One directive is in flight per direction and attempt. Until its confirmation arrives it is repeated
with the same seq: after 2 s, backing off to 30 s, and at once when the other side joins.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

FIRST_REPEAT_SECONDS = 2.0
LONGEST_REPEAT_SECONDS = 30.0


@dataclass(slots=True)
class Entry:
    """A directive that waits for its confirmation, or for its turn."""

    seq: int
    text: str
    cause: str | None = None
    """msgid of the command behind it; goes out as `+draft/reply`."""
    msgids: set[str] = field(default_factory=set)
    """Of every time that it was sent: a confirmation may name any of them."""
    next_at: float = 0.0
    wait: float = FIRST_REPEAT_SECONDS


class Outbox:
    """The sender's side of one direction of one attempt."""

    def __init__(self, last_seq: int = 0) -> None:
        self._last_seq = last_seq
        self._waiting: deque[Entry] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, text: str, *, cause: str | None = None, at_least: int = 0) -> Entry:
        """Queue a directive. Its seq is one more than the last, or `at_least` if that is more."""
        self._last_seq = max(self._last_seq + 1, at_least)
        entry = Entry(self._last_seq, text, cause)
        self._waiting.append(entry)
        return entry

    def due(self, now: float) -> Entry | None:
        """The directive to send now, if any; counts as sent. `now` in monotonic seconds."""
        if not self._waiting or self._waiting[0].next_at > now:
            return None
        entry = self._waiting[0]
        entry.next_at = now + entry.wait
        entry.wait = min(entry.wait * 2, LONGEST_REPEAT_SECONDS)
        return entry

    def next_at(self) -> float | None:
        """When `due` has something next; None = nothing waits."""
        return self._waiting[0].next_at if self._waiting else None

    def hurry(self) -> None:
        """The other side has just joined: repeat at once."""
        if self._waiting:
            self._waiting[0].next_at = 0.0
            self._waiting[0].wait = FIRST_REPEAT_SECONDS

    def confirmed(self, msgid: str) -> Entry | None:
        """The other side took the message of this msgid: done with it. None if it is not ours."""
        if not self._waiting or msgid not in self._waiting[0].msgids:
            return None
        return self._waiting.popleft()


class Inbox:
    """The receiver's side: is this seq new?"""

    def __init__(self, highest: int = 0) -> None:
        self.highest = highest

    def take(self, seq: int) -> bool:
        """True if it is to be carried out; False = taken before: confirm again, without effect."""
        if seq <= self.highest:
            return False
        self.highest = seq
        return True
