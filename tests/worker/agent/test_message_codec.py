"""Messages as JSON, both ways."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.agent.errors import MessageFormatError
from worker.agent.message_codec import message_from_json, message_to_json
from worker.agent.messages import (
    AssistantMessage,
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

ANY_TEXT = st.text(st.characters(), max_size=10)
OBJECTS = st.dictionaries(ANY_TEXT, st.one_of(ANY_TEXT, st.integers(), st.none()), max_size=3)
USAGES = st.builds(Usage, *[st.integers(0, 10**9)] * 5)
BLOCKS = st.one_of(
    st.builds(TextBlock, ANY_TEXT),
    st.builds(ThinkingBlock, ANY_TEXT, ANY_TEXT),
    st.builds(RedactedThinkingBlock, ANY_TEXT),
    st.builds(ToolCall, ANY_TEXT, ANY_TEXT, OBJECTS, st.none() | ANY_TEXT),
    st.builds(OpaqueBlock, OBJECTS),
)
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(UserMessage, ANY_TEXT, ANY_TEXT),
    st.builds(
        AssistantMessage,
        st.lists(BLOCKS, max_size=4).map(tuple),
        st.sampled_from(StopReason),
        ANY_TEXT,
        USAGES,
        USAGES,
        ANY_TEXT,
    ),
    st.builds(ToolResultMessage, ANY_TEXT, ANY_TEXT, ANY_TEXT, st.booleans(), st.none() | OBJECTS),
)


@given(MESSAGES)
def test_every_message_survives_the_way_to_json_text_and_back(message: Message) -> None:
    assert message_from_json(json.loads(json.dumps(message_to_json(message)))) == message


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"role": "system", "text": "x"},
        {"role": "user"},
        {"role": "user", "text": "x", "colour": "red"},
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": [{"type": "song"}], "stop_reason": "end_turn"},
    ],
)
def test_anything_else_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(MessageFormatError, match="not a stored message"):
        message_from_json(data)
