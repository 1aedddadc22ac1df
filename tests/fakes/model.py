"""A model that follows a script. It keeps what it was asked, and checks each request as the API
would, so that every test of the loop is a test of the requests too."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any

from tests.support.request_rules import check_request
from worker.agent.events import Delta, ModelEvent, ReplyDone, TextDelta
from worker.agent.messages import AssistantMessage, StopReason, TextBlock, ToolCall, Usage
from worker.agent.request import ModelRequest, render

MODEL = "scripted"

Script = AssistantMessage | Exception | Callable[[], Awaitable[AssistantMessage]]
"""A reply; something to raise; or a function to await, for replies that wait or have effects."""


def says(text: str, stop_reason: StopReason = StopReason.END_TURN) -> AssistantMessage:
    return AssistantMessage((TextBlock(text),), stop_reason, MODEL, Usage(10, 5))


def calls(*tool_calls: ToolCall, text: str = "") -> AssistantMessage:
    content: tuple[TextBlock | ToolCall, ...] = tool_calls
    if text:
        content = (TextBlock(text), *tool_calls)
    return AssistantMessage(content, StopReason.TOOL_USE, MODEL, Usage(10, 5))


def call(name: str, number: int = 1, **args: object) -> ToolCall:
    return ToolCall(f"call_{number}", name, args)


class ScriptedModel:
    """Plays one entry of its script per request; past its end it says "done"."""

    name = MODEL

    def __init__(self, *script: Script, deltas: Sequence[Delta] | None = None) -> None:
        self._script = list(script)
        self._deltas = deltas
        self.requests: list[list[dict[str, Any]]] = []
        """The messages of each request, as the API would get them, without cache marks."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        rendered = render(request, MODEL)
        check_request(rendered)
        self.requests.append(without_marks(rendered["messages"]))
        entry = self._script.pop(0) if self._script else says("done")
        if isinstance(entry, Exception):
            raise entry
        deltas = self._deltas
        if deltas is None:
            deltas = [TextDelta(entry.text)] if isinstance(entry, AssistantMessage) else []
        for delta in deltas:
            yield delta
        yield ReplyDone(entry if isinstance(entry, AssistantMessage) else await entry())

    def user_texts(self, request: int) -> list[str]:
        """The texts of the last message of a request, which is always the user's."""
        blocks = self.requests[request][-1]["content"]
        return [block["text"] for block in blocks if block["type"] == "text"]

    def results(self, request: int) -> list[tuple[str, bool]]:
        """Text and error flag of the tool results in the last message of a request."""
        blocks = self.requests[request][-1]["content"]
        return [
            (block["content"][0]["text"], block.get("is_error", False))
            for block in blocks
            if block["type"] == "tool_result"
        ]


def without_marks(messages: Any) -> Any:
    if isinstance(messages, dict):
        return {k: without_marks(v) for k, v in messages.items() if k != "cache_control"}
    return [without_marks(item) for item in messages] if isinstance(messages, list) else messages
