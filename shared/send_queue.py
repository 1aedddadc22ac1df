"""Who speaks first and how fast: priorities over a token bucket.

Time is an argument (seconds of any steady clock), so the queue is tested without waiting.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import IntEnum
from typing import Generic, TypeVar

Item = TypeVar("Item")

_ROUNDING = 1e-9  # so that the time that `seconds_until_next` names is late enough


class Priority(IntEnum):
    """The smaller goes first; within one priority the order of `put` holds."""

    CONTROL = 0
    """Keeps the connection alive or ends it; never waits, but is paid for."""
    NORMAL = 1
    BULK = 2


@dataclass(frozen=True, slots=True)
class Pacing:
    """How much may go at once, and how fast the allowance comes back."""

    burst: int
    per_second: float


class SendQueue(Generic[Item]):
    """Items with a priority and a cost in tokens; `pacing` None lets all of them go at once."""

    def __init__(self, pacing: Pacing | None, now: float) -> None:
        self._pacing = pacing
        self._waiting: dict[Priority, deque[tuple[Item, int]]] = {p: deque() for p in Priority}
        self._tokens = float(pacing.burst) if pacing else 0.0
        self._counted_at = now

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def put(self, item: Item, priority: Priority, cost: int = 1) -> None:
        self._waiting[priority].append((item, cost))

    def take(self, now: float) -> list[Item]:
        """Remove and return what may be sent now, in order."""
        self._refill(now)
        taken: list[Item] = []
        for priority, waiting in self._waiting.items():
            while waiting and self._may_go(priority, waiting[0][1]):
                item, cost = waiting.popleft()
                self._tokens -= cost
                taken.append(item)
            if waiting:  # what is less urgent may not overtake
                break
        return taken

    def seconds_until_next(self, now: float) -> float | None:
        """How long until `take` gives something; 0 for now, None for an empty queue."""
        self._refill(now)
        for priority, waiting in self._waiting.items():
            if waiting:
                return self._seconds_until(priority, waiting[0][1])
        return None

    def drain(self) -> list[Item]:
        """Remove and return everything: the connection is gone."""
        left = [item for waiting in self._waiting.values() for item, _ in waiting]
        for waiting in self._waiting.values():
            waiting.clear()
        return left

    def _refill(self, now: float) -> None:
        if self._pacing:
            earned = max(0.0, now - self._counted_at) * self._pacing.per_second
            self._tokens = min(float(self._pacing.burst), self._tokens + earned)
        self._counted_at = max(now, self._counted_at)

    def _may_go(self, priority: Priority, cost: int) -> bool:
        if self._pacing is None or priority is Priority.CONTROL:
            return True
        return self._tokens + _ROUNDING >= self._due(cost)

    def _seconds_until(self, priority: Priority, cost: int) -> float:
        if self._pacing is None or self._may_go(priority, cost):
            return 0.0
        return (self._due(cost) - self._tokens) / self._pacing.per_second

    def _due(self, cost: int) -> int:
        """An item dearer than the bucket goes from a full one, and leaves a debt."""
        return min(cost, self._pacing.burst) if self._pacing else cost
