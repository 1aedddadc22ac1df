"""What the loop asks of a model. Vendors differ behind this line and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from worker.agent.events import ModelEvent
    from worker.agent.request import ModelRequest


class Model(Protocol):
    """Answers one request at a time."""

    @property
    def name(self) -> str: ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Deltas, then exactly one ReplyDone.

        Does not raise: a failure is a ReplyDone with stop reason ERROR. An abort arrives as a
        cancellation at any await, retries included, and may leave nothing open.
        """
        ...
