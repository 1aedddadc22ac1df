"""Messages as JSON objects, both ways: the form in the transcript. Nothing is lost or repaired."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, assert_never

from worker.agent.errors import MessageFormatError
from worker.agent.messages import (
    AssistantMessage,
    Block,
    Message,
    OpaqueBlock,
    RedactedThinkingBlock,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)

JsonObject = dict[str, Any]


def message_to_json(message: Message) -> JsonObject:
    """One object with a `role` of user, assistant or tool."""
    match message:
        case UserMessage():
            return {"role": "user", **asdict(message)}
        case AssistantMessage():
            return {
                "role": "assistant",
                **asdict(message),
                "content": [_block_to_json(block) for block in message.content],
                "stop_reason": str(message.stop_reason),
            }
        case ToolResultMessage():
            return {"role": "tool", **asdict(message)}
        case _:
            assert_never(message)


def message_from_json(data: JsonObject) -> Message:
    """The message that message_to_json wrote; raises MessageFormatError for anything else."""
    try:
        return _message(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        text = f"not a stored message ({type(error).__name__}: {error})"
        raise MessageFormatError(text) from error


def _message(data: JsonObject) -> Message:
    fields = {key: value for key, value in data.items() if key != "role"}
    match data["role"]:
        case "user":
            return UserMessage(**fields)
        case "tool":
            return ToolResultMessage(**fields)
        case "assistant":
            fields["content"] = tuple(_block(block) for block in data["content"])
            fields["stop_reason"] = StopReason(data["stop_reason"])
            fields["usage"] = Usage(**data["usage"])
            fields["wasted"] = Usage(**data["wasted"])
            return AssistantMessage(**fields)
        case role:
            raise ValueError(f"role {role!r}")


def _block_to_json(block: Block) -> JsonObject:
    match block:
        case TextBlock():
            return {"type": "text", **asdict(block)}
        case ThinkingBlock():
            return {"type": "thinking", **asdict(block)}
        case RedactedThinkingBlock():
            return {"type": "redacted_thinking", **asdict(block)}
        case ToolCall():
            return {"type": "tool_use", **asdict(block)}
        case OpaqueBlock():
            return {"type": "opaque", "data": dict(block.data)}
        case _:
            assert_never(block)


_BLOCKS: dict[str, type[Block]] = {
    "text": TextBlock,
    "thinking": ThinkingBlock,
    "redacted_thinking": RedactedThinkingBlock,
    "tool_use": ToolCall,
    "opaque": OpaqueBlock,
}


def _block(data: JsonObject) -> Block:
    return _BLOCKS[data["type"]](**{key: value for key, value in data.items() if key != "type"})
