"""The messages of a conversation, as they are kept: frozen, in order, with nothing regrouped.

Thinking is bound to the exact bytes before it, so an assistant's blocks stay as they came; what a
request needs repaired is repaired in request.py, never here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class StopReason(StrEnum):
    """Why a reply ended. Only TOOL_USE may run tools."""

    END_TURN = "end_turn"
    TOOL_USE = "tool_use"
    MAX_TOKENS = "max_tokens"
    CONTEXT_FULL = "context_full"
    BROKEN = "broken"
    """The input of a tool call could not be parsed; what came before it is kept."""
    PAUSE_TURN = "pause_turn"
    REFUSAL = "refusal"
    ERROR = "error"
    ABORTED = "aborted"


UNSENT = frozenset({StopReason.ERROR, StopReason.ABORTED, StopReason.REFUSAL})
"""Replies that ended so stay in the log and never go back to the model."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that were billed. Input excludes what the cache read or wrote."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    """Written with a lifetime of five minutes."""
    cache_write_1h_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.cache_write_1h_tokens + other.cache_write_1h_tokens,
        )

    @property
    def prompt_tokens(self) -> int:
        """All that the model read, from the cache or not."""
        return (
            self.input_tokens
            + self.cache_read_tokens
            + self.cache_write_tokens
            + self.cache_write_1h_tokens
        )


@dataclass(frozen=True, slots=True)
class TextBlock:
    """What the assistant said."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingBlock:
    """What the assistant thought; the text may be empty, the signature then carries it."""

    thinking: str
    signature: str = ""
    """"" for a thought that was cut off: such a one is never sent back."""


@dataclass(frozen=True, slots=True)
class RedactedThinkingBlock:
    """A thought that only the vendor can read."""

    data: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that the assistant asked for."""

    id: str
    name: str
    input: Mapping[str, object]
    malformed: str | None = None
    """What was received, where that is not a JSON object; `input` is then empty."""


@dataclass(frozen=True, slots=True)
class OpaqueBlock:
    """Any other block of the API, sent back as it came."""

    data: Mapping[str, object]


Block = TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolCall | OpaqueBlock


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What people tell the agent."""

    text: str
    reference: str = ""
    """What the sender of the message knows it by; never sent to the model."""


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """One reply of the model."""

    content: tuple[Block, ...]
    stop_reason: StopReason
    model: str
    usage: Usage = field(default_factory=Usage)
    wasted: Usage = field(default_factory=Usage)
    """Billed for tries of this reply that failed and were dropped."""
    error: str = ""
    """Why, for ERROR and REFUSAL."""

    @property
    def text(self) -> str:
        return "\n".join(block.text for block in self.content if isinstance(block, TextBlock))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(block for block in self.content if isinstance(block, ToolCall))


@dataclass(frozen=True, slots=True)
class ToolResultMessage:
    """What one call gave back."""

    call_id: str
    tool_name: str
    text: str
    is_error: bool = False
    details: Mapping[str, object] | None = None
    """Facts for displays and logs; never sent to the model."""


Message = UserMessage | AssistantMessage | ToolResultMessage
