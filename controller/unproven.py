"""Which of our events the server is known to have stored (design 4: the log itself can fail). Pure.

On a full disk ergo echoes what it cannot store. Lines are compared whole: they hold id and time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass

MOST_EVENTS = 10_000
"""Kept while the server stores nothing; then the oldest are given up."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A line of #firehose that was echoed."""

    line: str
    at: float
    """Server time, unix seconds."""


class Unproven:
    """Events since the last proof, oldest first. Outlives connections, as their ids do."""

    def __init__(self) -> None:
        self._sent: deque[Sent] = deque(maxlen=MOST_EVENTS)

    def echoed(self, line: str, at: float) -> None:
        self._sent.append(Sent(line, at))

    def waiting(self) -> tuple[Sent, ...]:
        return tuple(self._sent)

    def missing(self, checked: Iterable[Sent], stored: Collection[str]) -> tuple[Sent, ...]:
        """Forget those of `checked` that the history holds; the others, in order."""
        proven = {sent for sent in checked if sent.line in stored}
        self._sent = deque((s for s in self._sent if s not in proven), maxlen=MOST_EVENTS)
        return tuple(sent for sent in checked if sent not in proven)
