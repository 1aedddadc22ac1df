"""The controller's heart: inputs in, jobs out. No clock, no await, no randomness. Pure.

The same inputs at the same times give the same jobs, so any run can be told again from a record.
"""

from __future__ import annotations

from controller.effects import Input, Job
from controller.limits import CoreSettings
from controller.rebuild import Rebuilt


class Core:
    """One per connection: a new connection rebuilds, and starts with a new one."""

    def __init__(self, settings: CoreSettings, start: Rebuilt) -> None:
        self.settings = settings
        self.board = start.board
        self._start = start

    def begin(self, now: float) -> list[Job]:
        """What the rebuild found to repair and to say; before the first `feed`."""
        raise NotImplementedError

    def feed(self, input: Input, now: float) -> list[Job]:
        """Decide. `now` in unix seconds."""
        raise NotImplementedError

    def due_at(self) -> float | None:
        """Unix time at which a Tick is wanted before the next sweep; None = no wish."""
        raise NotImplementedError
