"""What happens in a run, one type per event. The nesting that listeners can rely on:

AgentStart, then turns, then AgentEnd. A turn: TurnStart; MessageStart and MessageEnd of each
message that joins; MessageStart, MessageUpdate*, MessageEnd of the reply; per call
ToolExecutionStart, ToolExecutionUpdate*, ToolExecutionEnd; MessageStart and MessageEnd of each
result; TurnEnd.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from worker.agent.messages import AssistantMessage, Message, ToolResultMessage, Usage


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text of the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """More of a thought."""

    thinking: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A call that is being written; `name` comes with its first delta, `json` with the others."""

    call_id: str
    name: str = ""
    json: str = ""


@dataclass(frozen=True, slots=True)
class UsageUpdate:
    """What the reply has cost so far; counted when the run is aborted in the middle of it."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Retrying:
    """The reply failed and is asked for again: what was streamed of it so far is void."""

    attempt: int
    """1 for the first repetition."""
    delay_seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class ReplyDone:
    """The whole reply; always the last event of a stream."""

    message: AssistantMessage


Delta = TextDelta | ThinkingDelta | ToolCallDelta | UsageUpdate | Retrying
ModelEvent = Delta | ReplyDone


class RunReason(StrEnum):
    """Why a run ended."""

    COMPLETED = "completed"
    BLOCKED = "blocked"
    """Results of the last turn asked to end it; `results` has them all, details too."""
    ABORTED = "aborted"
    ERROR = "error"
    REFUSED = "refused"
    """The model declined; asking again unchanged does not help."""
    LENGTH = "length"
    """The reply hit the length limit again after it was asked to go on."""
    TURNS = "turns"
    BUDGET = "budget"
    LOOP = "loop"
    """The same calls gave the same results too often in a row."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended."""

    reason: RunReason
    text: str = ""
    """The final text of the assistant."""
    error: str = ""
    """What went wrong or which limit was hit, in words for people; "" when all is well."""
    results: tuple[ToolResultMessage, ...] = ()
    """For BLOCKED: those of the last turn."""


@dataclass(frozen=True, slots=True)
class AgentStart:
    """A run begins."""


@dataclass(frozen=True, slots=True)
class TurnStart:
    """One request and the tools that it leads to."""

    turn: int
    """1 for the first of the run."""


@dataclass(frozen=True, slots=True)
class MessageStart:
    """A message begins; what it holds comes with its MessageEnd."""

    role: Literal["user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class MessageUpdate:
    """The reply grows."""

    delta: Delta


@dataclass(frozen=True, slots=True)
class MessageEnd:
    """The message is in the transcript, on disk too."""

    message: Message


@dataclass(frozen=True, slots=True)
class ToolExecutionStart:
    """A call is looked at; it may still be refused."""

    call_id: str
    name: str
    args: Mapping[str, object]
    """As the model sent them."""


@dataclass(frozen=True, slots=True)
class ToolExecutionUpdate:
    """A snapshot of the output so far."""

    call_id: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolExecutionEnd:
    """The call is over."""

    call_id: str
    name: str
    result: ToolResultMessage
    duration_seconds: float | None
    """None: the tool never ran."""


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """The turn is over."""

    message: AssistantMessage
    results: tuple[ToolResultMessage, ...]


@dataclass(frozen=True, slots=True)
class AgentEnd:
    """The run is over; its prompt() returns once the listeners have seen this."""

    messages: tuple[Message, ...]
    """What this run added."""
    end: RunEnd


AgentEvent = (
    AgentStart
    | TurnStart
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolExecutionStart
    | ToolExecutionUpdate
    | ToolExecutionEnd
    | TurnEnd
    | AgentEnd
)
