"""What a tool is: the seam between the agent loop and the modules that implement tools.

The loop checks arguments against `input_schema` first, kindly ("42" for 42, one value for a list of
one), and answers what does not fit. So a schema holds what is never acceptable and no more: a tool
that takes several shapes says the best one in words, and reads the others itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping


class ToolError(Exception):
    """A call that cannot be carried out; the text tells the model what, where and what to do."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What the model is told about a tool."""

    name: str
    description: str
    input_schema: Mapping[str, object]
    """JSON Schema of the arguments, sent as it is."""
    sequential: bool = False
    """True: a batch that holds a call of this tool runs its calls one after the other."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What one call gave back. A refusal or failure is a result too, with `is_error`."""

    text: str
    is_error: bool = False
    terminate: bool = False
    """True: the turn ends after this batch (asking a person, handing in)."""
    details: Mapping[str, object] | None = None
    """JSON-able facts for displays and logs; never sent to the model."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What the loop hands to a running call."""

    call_id: str
    aborted: asyncio.Event
    """Set when the run is stopped; the tool ends soon and returns what it has."""
    on_update: Callable[[str], None]
    """Called with a snapshot of the output so far, never after the call has ended."""


class Tool(Protocol):
    """One thing the model can do."""

    @property
    def spec(self) -> ToolSpec: ...

    async def run(self, args: Mapping[str, object], context: ToolContext) -> ToolResult:
        """Carry out one call. What it raises, the loop turns into an error result."""
        ...
