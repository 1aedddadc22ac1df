"""What every decision reads: the board and the operator's settings. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.board import Board
from controller.limits import CoreSettings


@dataclass(slots=True)
class World:
    """Handed to every function that decides."""

    settings: CoreSettings
    board: Board
    pages: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    """(place, nick) -> the rest of that person's last long answer."""
    log_lost: bool = False
    """The server echoes our events and stores none of them."""
