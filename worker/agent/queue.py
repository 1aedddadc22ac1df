"""Messages that wait for their turn, in three states: queued, reserved for a turn, delivered.

A message that was reserved for a turn which then did not take place goes back to the front, so it
is delivered exactly once, whenever an abort comes.
"""

from __future__ import annotations

from collections import deque
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from worker.agent.messages import UserMessage


class QueueMode(StrEnum):
    """How many messages one turn takes."""

    ONE = "one"
    ALL = "all"


class PendingQueue:
    """First in, first out."""

    def __init__(self, mode: QueueMode = QueueMode.ONE) -> None:
        self._mode = mode
        self._queued: deque[UserMessage] = deque()
        self._reserved: deque[UserMessage] = deque()

    def __len__(self) -> int:
        """Messages that are not delivered, reserved ones too."""
        return len(self._queued) + len(self._reserved)

    def put(self, message: UserMessage) -> None:
        self._queued.append(message)

    def peek(self) -> tuple[UserMessage, ...]:
        """All that is not delivered, the next one first; changes nothing."""
        return (*self._reserved, *self._queued)

    @property
    def reserved(self) -> tuple[UserMessage, ...]:
        """What is set aside for the coming turn, in order."""
        return tuple(self._reserved)

    def reserve(self) -> int:
        """Set aside what the next turn takes, and say how many that are."""
        wanted = len(self._queued) if self._mode is QueueMode.ALL else 1
        while self._queued and len(self._reserved) < wanted:
            self._reserved.append(self._queued.popleft())
        return len(self._reserved)

    def commit(self) -> UserMessage:
        """The first reserved message, from now on delivered."""
        return self._reserved.popleft()

    def release(self) -> None:
        """Put reserved messages back to the front."""
        self._queued.extendleft(reversed(self._reserved))
        self._reserved.clear()

    def clear(self) -> tuple[UserMessage, ...]:
        """Give up on all that waits, and hand it back."""
        dropped = self.peek()
        self._queued.clear()
        self._reserved.clear()
        return dropped
