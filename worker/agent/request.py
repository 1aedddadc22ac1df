"""From the transcript to what the API accepts: a pure function, with every repair in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from worker.agent.messages import Message
    from worker.tools import ToolSpec


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a model is asked: the transcript as it is kept, not repaired yet."""

    system: str
    tools: tuple[ToolSpec, ...]
    messages: tuple[Message, ...]
