"""A reply that did not come to its end: what was streamed of it, as a message for the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worker.agent.events import Delta, Retrying, TextDelta, ThinkingDelta, UsageUpdate
from worker.agent.messages import (
    AssistantMessage,
    StopReason,
    TextBlock,
    ThinkingBlock,
    Usage,
)

if TYPE_CHECKING:
    from worker.agent.messages import Block


class PartialReply:
    """Collects deltas. Unfinished tool calls are left out: they could not run anyway."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._blocks: list[Block] = []
        self._usage = Usage()
        self._wasted = Usage()

    def add(self, delta: Delta) -> None:
        match delta:
            case TextDelta(text):
                self._extend(TextBlock(text))
            case ThinkingDelta(thinking):
                self._extend(ThinkingBlock(thinking))
            case UsageUpdate(usage):
                self._usage = usage
            case Retrying():
                self._wasted += self._usage
                self._usage = Usage()
                self._blocks.clear()
            case _:
                pass

    def aborted(self) -> AssistantMessage:
        return self._message(StopReason.ABORTED, "")

    def failed(self, error: str) -> AssistantMessage:
        return self._message(StopReason.ERROR, error)

    def _message(self, reason: StopReason, error: str) -> AssistantMessage:
        content = tuple(self._blocks)
        return AssistantMessage(content, reason, self._model, self._usage, self._wasted, error)

    def _extend(self, block: TextBlock | ThinkingBlock) -> None:
        match self._blocks[-1:], block:
            case [TextBlock(before)], TextBlock(more):
                self._blocks[-1] = TextBlock(before + more)
            case [ThinkingBlock(before)], ThinkingBlock(more):
                self._blocks[-1] = ThinkingBlock(before + more)
            case _:
                self._blocks.append(block)
