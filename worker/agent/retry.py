"""When a failed reply is asked for again, and after how long: decided here for all vendors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from worker.agent.messages import Usage

if TYPE_CHECKING:
    from random import Random


@dataclass(frozen=True, slots=True)
class Failure:
    """A try that gave no reply."""

    text: str
    retryable: bool
    retry_after_seconds: float | None = None
    """What the server asked for."""
    usage: Usage = field(default_factory=Usage)
    """Billed all the same."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Doubling pauses, each up to a quarter shorter so that workers do not come back together."""

    retries: int = 5
    first_pause_seconds: float = 1.0
    longest_pause_seconds: float = 16.0
    longest_asked_seconds: float = 60.0
    """A server that asks for more than this gets no further try: people are told instead."""

    def pause_seconds(self, failures: int, failure: Failure, rng: Random) -> float | None:
        """The pause after this many failures in a row; None: give up."""
        if not failure.retryable or failures > self.retries:
            return None
        asked = failure.retry_after_seconds
        if asked is not None:
            return asked if asked <= self.longest_asked_seconds else None
        pause = self.first_pause_seconds * 2.0 ** (failures - 1)
        return min(pause, self.longest_pause_seconds) * (1.0 - rng.random() / 4.0)
