"""From the events of the Messages API to ours: pure, over values of the SDK that it only reads.

Knows what the SDK keeps quiet about: a stream that was cut off has no stop reason and no error, and
a call's input is whatever could be parsed of it so far.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from worker.agent.events import TextDelta, ThinkingDelta, ToolCallDelta, UsageUpdate
from worker.agent.messages import (
    AssistantMessage,
    Block,
    OpaqueBlock,
    RedactedThinkingBlock,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    Usage,
)

if TYPE_CHECKING:
    from worker.agent.events import Delta

_STOP_REASONS = {
    "end_turn": StopReason.END_TURN,
    "stop_sequence": StopReason.END_TURN,
    "tool_use": StopReason.TOOL_USE,
    "max_tokens": StopReason.MAX_TOKENS,
    "model_context_window_exceeded": StopReason.CONTEXT_FULL,
    "pause_turn": StopReason.PAUSE_TURN,
    "refusal": StopReason.REFUSAL,
}


class ReplyReader:
    """Reads one stream."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._inputs: dict[int, str] = {}
        """JSON text of each tool call, by the index of its block."""
        self._open_call: int | None = None

    def feed(self, event: Any, snapshot: Any) -> Delta | None:
        """What an event of the SDK's stream means to us; None for what does not matter."""
        match event.type:
            case "message_start" | "message_delta":
                return UsageUpdate(usage_of(snapshot))
            case "content_block_start" if event.content_block.type == "tool_use":
                self._inputs[event.index] = ""
                self._open_call = event.index
                return ToolCallDelta(event.content_block.id, event.content_block.name)
            case "content_block_stop":
                self._open_call = None
            case "content_block_delta":
                return self._delta(event, snapshot)
            case _:
                pass
        return None

    def message(self, snapshot: Any) -> AssistantMessage | None:
        """The whole reply; None when the stream was cut off before its end."""
        if snapshot is None or snapshot.stop_reason is None:
            return None
        reason = _STOP_REASONS.get(snapshot.stop_reason, StopReason.ERROR)
        blocks = [
            self._block(index, data, reason)
            for index, data in enumerate(snapshot.to_dict(mode="json", warnings=False)["content"])
        ]
        error = _error_text(snapshot) if reason in (StopReason.ERROR, StopReason.REFUSAL) else ""
        usage = usage_of(snapshot)
        return AssistantMessage(tuple(blocks), reason, self._model, usage, error=error)

    def broken(self, snapshot: Any, error: ValueError) -> AssistantMessage | None:
        """The reply up to a call whose input cannot be parsed; None when there is no such call."""
        if self._open_call is None:
            return None
        content = snapshot.to_dict(mode="json", warnings=False)["content"]
        blocks = [
            self._block(index, data, StopReason.BROKEN)
            for index, data in enumerate(content[: self._open_call])
        ]
        data = content[self._open_call]
        received = str(error).rpartition("JSON: ")[2]
        blocks.append(ToolCall(data["id"], data["name"], {}, malformed=received))
        usage = usage_of(snapshot)
        return AssistantMessage(tuple(blocks), StopReason.BROKEN, self._model, usage)

    def _delta(self, event: Any, snapshot: Any) -> Delta | None:
        match event.delta.type:
            case "text_delta":
                return TextDelta(event.delta.text)
            case "thinking_delta":
                return ThinkingDelta(event.delta.thinking)
            case "input_json_delta" if event.index in self._inputs:
                self._inputs[event.index] += event.delta.partial_json
                identifier = snapshot.content[event.index].id
                return ToolCallDelta(identifier, json=event.delta.partial_json)
            case _:
                return None

    def _block(self, index: int, data: dict[str, Any], reason: StopReason) -> Block:
        match data["type"]:
            case "text":
                return TextBlock(data["text"])
            case "thinking":
                return ThinkingBlock(data["thinking"], data.get("signature") or "")
            case "redacted_thinking":
                return RedactedThinkingBlock(data["data"])
            case "tool_use":
                return self._call(index, data, reason)
            case _:
                return OpaqueBlock(data)

    def _call(self, index: int, data: dict[str, Any], reason: StopReason) -> ToolCall:
        received = self._inputs.get(index) or json.dumps(data["input"])
        given = data["input"] if isinstance(data["input"], dict) else {}
        if reason is StopReason.TOOL_USE and not _is_object(received):
            return ToolCall(data["id"], data["name"], {}, malformed=received)
        return ToolCall(data["id"], data["name"], given)


def usage_of(snapshot: Any) -> Usage:
    """What the API has billed so far; its counts are totals, not additions."""
    usage = snapshot.usage
    written = usage.cache_creation_input_tokens or 0
    detail = usage.cache_creation
    long_lived = detail.ephemeral_1h_input_tokens if detail is not None else 0
    return Usage(
        usage.input_tokens or 0,
        usage.output_tokens or 0,
        usage.cache_read_input_tokens or 0,
        written - long_lived,
        long_lived,
    )


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _error_text(snapshot: Any) -> str:
    if snapshot.stop_reason != "refusal":
        return f"the model stopped for an unknown reason: {snapshot.stop_reason}"
    details = snapshot.stop_details
    category = getattr(details, "category", None) or "no category"
    explanation = getattr(details, "explanation", None) or ""
    return f"the model declined ({category}) {explanation}".rstrip()
