"""From the transcript to what the API accepts: a pure function, with every repair in it.

The log stays as it is; the same log always gives the same bytes, and a longer log only adds to
them, because thinking is bound to the exact bytes before it and the cache to their hash. Only the
cache markers move.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, assert_never

from worker.agent.messages import (
    UNSENT,
    AssistantMessage,
    Block,
    Message,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from worker.tools import ToolSpec

Json = dict[str, Any]

NO_RESULT = "This call has no result: the work was interrupted before it finished."
NO_OUTPUT = "(no output)"
EMPTY_MESSAGE = "(empty message)"
CACHE_MARK: Json = {"type": "ephemeral"}
MAX_ID_CHARS = 64


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a model is asked: the transcript as it is kept, not repaired yet."""

    system: str
    tools: tuple[ToolSpec, ...]
    messages: tuple[Message, ...]


def render(request: ModelRequest, model: str) -> Json:
    """The `system`, `tools` and `messages` of a Messages API request to this model."""
    tools = [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": dict(tool.input_schema),
        }
        for tool in request.tools
    ]
    system = [] if is_blank(request.system) else [{"type": "text", "text": request.system}]
    messages = _messages(request.messages, model)
    rendered: Json = clean({"system": system, "tools": tools, "messages": messages})
    _mark(rendered["system"])
    _mark(rendered["tools"])
    users = [message for message in rendered["messages"] if message["role"] == "user"]
    _mark(users[-1]["content"] if users else [])
    return rendered


def clean(value: Any) -> Any:
    """A copy of a JSON value without lone surrogates, which cannot be sent as UTF-8."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    return value


def is_blank(text: str) -> bool:
    """True for text that the API refuses as empty; zero-width characters count as nothing."""
    return all(char.isspace() or unicodedata.category(char) in ("Cf", "Cc") for char in text)


def _mark(blocks: list[Json]) -> None:
    if blocks:
        blocks[-1]["cache_control"] = dict(CACHE_MARK)


def _messages(messages: Sequence[Message], model: str) -> list[Json]:
    """Messages in turn, user first: what follows each other from one side is one message."""
    merged: list[Json] = []
    for role, blocks in _parts(messages, model):
        if merged and merged[-1]["role"] == role:
            merged[-1]["content"] += blocks
        elif blocks:
            merged.append({"role": role, "content": blocks})
    return merged


def _parts(messages: Sequence[Message], model: str) -> Iterator[tuple[str, list[Json]]]:
    ids = _WireIds()
    for reply, rest in _segments(messages):
        calls: list[ToolCall] = []
        wire_ids: list[str] = []
        if reply is not None:
            calls = list(reply.tool_calls)
            wire_ids = [ids.next_for(call.id) for call in calls]
            yield "assistant", _reply_blocks(reply, wire_ids, model)
        results = [message for message in rest if isinstance(message, ToolResultMessage)]
        yield "user", _result_blocks(calls, wire_ids, results)
        yield (
            "user",
            [_user_block(message) for message in rest if isinstance(message, UserMessage)],
        )


def _segments(
    messages: Iterable[Message],
) -> Iterator[tuple[AssistantMessage | None, list[Message]]]:
    """Each reply that is sent, with what came in before the next one; None before the first."""
    reply: AssistantMessage | None = None
    rest: list[Message] = []
    for message in messages:
        if not isinstance(message, AssistantMessage):
            rest.append(message)
        elif message.stop_reason not in UNSENT:
            yield reply, rest
            reply, rest = message, []
    yield reply, rest


class _WireIds:
    """Ids of calls in the API's alphabet, each used once, the same each time for the same log."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def next_for(self, call_id: str) -> str:
        base = re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)[:MAX_ID_CHARS] or "call"
        candidate, number = base, 1
        while candidate in self._used:
            number += 1
            suffix = f"-{number}"
            candidate = base[: MAX_ID_CHARS - len(suffix)] + suffix
        self._used.add(candidate)
        return candidate


def _reply_blocks(reply: AssistantMessage, wire_ids: Sequence[str], model: str) -> list[Json]:
    ids = deque(wire_ids)
    blocks: list[Json] = []
    for block in reply.content:
        if isinstance(block, ToolCall):
            blocks.append(_call_block(block, ids.popleft()))
        elif (rendered := _content_block(block, own=reply.model == model)) is not None:
            blocks.append(rendered)
    while blocks and blocks[-1]["type"] in ("thinking", "redacted_thinking"):
        blocks.pop()  # the API refuses a reply that ends in a thought
    return blocks


def _call_block(call: ToolCall, wire_id: str) -> Json:
    return {"type": "tool_use", "id": wire_id, "name": call.name, "input": dict(call.input)}


def _content_block(block: Block, *, own: bool) -> Json | None:
    """None for what may not be sent: blank text, thoughts that are unsigned or another model's."""
    match block:
        case TextBlock(text):
            return None if is_blank(text) else {"type": "text", "text": text}
        case ThinkingBlock(thinking, signature):
            thought = {"type": "thinking", "thinking": thinking, "signature": signature}
            return thought if own and signature else None
        case RedactedThinkingBlock(data):
            return {"type": "redacted_thinking", "data": data} if own else None
        case OpaqueBlock(data):
            return dict(data) if own else None
        case ToolCall():
            return None
        case _:
            assert_never(block)


def _result_blocks(
    calls: Sequence[ToolCall], wire_ids: Sequence[str], results: Iterable[ToolResultMessage]
) -> list[Json]:
    """One result per call, in the order of the calls; results without a call are dropped."""
    by_id: dict[str, deque[ToolResultMessage]] = {}
    for result in results:
        by_id.setdefault(result.call_id, deque()).append(result)
    blocks = []
    for call, wire_id in zip(calls, wire_ids, strict=True):
        waiting = by_id.get(call.id)
        result = waiting.popleft() if waiting else _no_result(call)
        blocks.append(_result_block(wire_id, result))
    return blocks


def _no_result(call: ToolCall) -> ToolResultMessage:
    return ToolResultMessage(call.id, call.name, NO_RESULT, is_error=True)


def _result_block(wire_id: str, result: ToolResultMessage) -> Json:
    text = NO_OUTPUT if is_blank(result.text) else result.text
    block: Json = {
        "type": "tool_result",
        "tool_use_id": wire_id,
        "content": [{"type": "text", "text": text}],
    }
    return {**block, "is_error": True} if result.is_error else block


def _user_block(message: UserMessage) -> Json:
    return {"type": "text", "text": EMPTY_MESSAGE if is_blank(message.text) else message.text}
