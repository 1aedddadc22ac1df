"""From the log to the request (A62-A70)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.model import MODEL, call, calls, says, without_marks
from tests.support.request_rules import check_request
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
    UserMessage,
)
from worker.agent.request import (
    EMPTY_MESSAGE,
    MAX_ID_CHARS,
    NO_OUTPUT,
    NO_RESULT,
    ModelRequest,
    clean,
    render,
)
from worker.tools import ToolSpec

TOOL = ToolSpec("run", "Runs.", {"type": "object", "properties": {}})


def wire(*messages: Message) -> list[dict[str, Any]]:
    """The messages of a legal request, without cache marks."""
    rendered = render(ModelRequest("system", (TOOL,), messages), MODEL)
    check_request(rendered)
    unmarked: list[dict[str, Any]] = without_marks(rendered["messages"])
    return unmarked


def texts(*parts: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": part} for part in parts]}


def result_block(identifier: str, text: str, **more: bool) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"type": "tool_result", "tool_use_id": identifier, "content": content, **more}


def reply(*blocks: Block, stop_reason: StopReason = StopReason.END_TURN) -> AssistantMessage:
    return AssistantMessage(blocks, stop_reason, MODEL)


HI = UserMessage("hi")
OK = ToolResultMessage("call_1", "run", "ok")


def test_a_whole_request_has_system_tools_messages_and_three_cache_marks() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    assert render(ModelRequest("system", (TOOL,), (HI, calls(call("run")), OK)), MODEL) == {
        "system": [{"type": "text", "text": "system", **mark}],
        "tools": [
            {
                "name": "run",
                "description": "Runs.",
                "input_schema": {"type": "object", "properties": {}},
                **mark,
            }
        ],
        "messages": [
            texts("hi"),
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "call_1", "name": "run", "input": {}}],
            },
            {"role": "user", "content": [{**result_block("call_1", "ok"), **mark}]},
        ],
    }


def test_orphan_calls_in_the_middle_and_at_the_end_get_a_made_up_result() -> None:
    """A62"""
    log = (HI, calls(call("run", 1)), says("hm"), UserMessage("go on"), calls(call("run", 2)))
    messages = wire(*log)
    missing = [result_block(f"call_{n}", NO_RESULT, is_error=True) for n in (1, 2)]
    assert messages[2]["content"] == [missing[0]]
    assert messages[-1]["content"] == [missing[1]]


def test_results_come_before_what_people_said_in_between() -> None:
    """A63"""
    messages = wire(HI, calls(call("run")), UserMessage("faster"), OK)
    assert messages[-1]["content"] == [result_block("call_1", "ok"), *texts("faster")["content"]]


def test_a_result_without_a_call_is_dropped() -> None:
    """A64"""
    assert wire(HI, OK, UserMessage("there")) == [texts("hi", "there")]


def test_only_one_of_two_results_for_one_call_is_sent() -> None:
    """A65"""
    second = ToolResultMessage("call_1", "run", "again")
    messages = wire(HI, calls(call("run")), OK, second)
    assert messages[-1]["content"] == [result_block("call_1", "ok")]


@pytest.mark.parametrize("blank", ["", " \n\t", "\N{ZERO WIDTH SPACE}", "\x00"])
def test_blank_text_never_reaches_the_wire(blank: str) -> None:
    """A66"""
    log = (
        UserMessage(blank),
        reply(TextBlock(blank), call("run"), stop_reason=StopReason.TOOL_USE),
        ToolResultMessage("call_1", "run", blank),
        says(blank),
    )
    messages = wire(*log)
    assert messages[0] == texts(EMPTY_MESSAGE)
    assert [block["type"] for block in messages[1]["content"]] == ["tool_use"]
    assert messages[2]["content"] == [result_block("call_1", NO_OUTPUT)]
    assert len(messages) == 3


def test_signed_thinking_goes_back_as_it_came_and_unsigned_does_not() -> None:
    """A67"""
    blocks = (
        ThinkingBlock("", "signed=="),
        TextBlock("one"),
        ThinkingBlock("lost"),
        RedactedThinkingBlock("secret"),
        OpaqueBlock({"type": "server_tool_use", "id": "srv_1"}),
        TextBlock("two"),
    )
    messages = wire(HI, reply(*blocks))
    assert messages[-1]["content"] == [
        {"type": "thinking", "thinking": "", "signature": "signed=="},
        {"type": "text", "text": "one"},
        {"type": "redacted_thinking", "data": "secret"},
        {"type": "server_tool_use", "id": "srv_1"},
        {"type": "text", "text": "two"},
    ]


def test_thinking_of_another_model_and_at_the_end_of_a_reply_is_left_out() -> None:
    other = AssistantMessage(
        (ThinkingBlock("hm", "sig"), TextBlock("one")), StopReason.END_TURN, "other"
    )
    cut = reply(TextBlock("two"), ThinkingBlock("hm", "sig"), stop_reason=StopReason.MAX_TOKENS)
    messages = wire(HI, other, UserMessage("and?"), cut, UserMessage("go on"))
    assert [message["content"] for message in messages[1::2]] == [
        [{"type": "text", "text": "one"}],
        [{"type": "text", "text": "two"}],
    ]


@pytest.mark.parametrize("reason", [StopReason.ERROR, StopReason.ABORTED, StopReason.REFUSAL])
def test_failed_replies_and_their_results_are_left_out(reason: StopReason) -> None:
    failed = reply(TextBlock("half"), call("run"), stop_reason=reason)
    assert wire(HI, failed, OK, UserMessage("again")) == [texts("hi", "again")]


def test_lone_surrogates_are_gone_everywhere() -> None:
    """A69"""
    bad = "a\ud83db"
    request = ModelRequest(
        bad,
        (ToolSpec("run", bad, {"type": "object", "description": bad}),),
        (
            UserMessage(bad),
            calls(call("run", path=bad, nested=[{bad: bad}])),
            ToolResultMessage("call_1", "run", bad),
        ),
    )
    rendered = render(request, MODEL)
    check_request(rendered)
    assert json.dumps(rendered, ensure_ascii=False).count("a�b") == 8
    assert clean("\U0001f600") == "\U0001f600", "real characters stay"


def test_ids_are_made_legal_and_distinct_and_results_follow_them() -> None:
    long = "x" * 80
    first = calls(
        ToolCall("id:1", "run", {}), ToolCall("id:1", "run", {}), ToolCall(long, "run", {})
    )
    results = [
        ToolResultMessage(identifier, "run", text)
        for identifier, text in (("id:1", "one"), (long, "three"), ("id:1", "two"))
    ]
    messages = wire(HI, first, *results)
    assert messages[-1]["content"] == [
        result_block("id_1", "one"),
        result_block("id_1-2", "two"),
        result_block("x" * MAX_ID_CHARS, "three"),
    ]


MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(UserMessage, st.text(max_size=5)),
    st.builds(
        ToolResultMessage,
        st.sampled_from(["call_1", "call_2", "id:1"]),
        st.just("run"),
        st.text(max_size=5),
        st.booleans(),
    ),
    st.builds(
        AssistantMessage,
        st.lists(
            st.one_of(
                st.builds(TextBlock, st.text(max_size=5)),
                st.builds(ThinkingBlock, st.text(max_size=3), st.sampled_from(["", "sig"])),
                st.builds(
                    ToolCall,
                    st.sampled_from(["call_1", "call_2", "id:1"]),
                    st.just("run"),
                    st.just({"a": 1}),
                ),
            ),
            max_size=4,
        ).map(tuple),
        st.sampled_from(StopReason),
        st.sampled_from([MODEL, "other"]),
    ),
)


@given(st.lists(MESSAGES, max_size=8))
def test_any_log_that_a_person_began_gives_a_legal_request(log: list[Message]) -> None:
    wire(HI, *log)


@given(st.lists(MESSAGES, max_size=8), st.lists(MESSAGES, max_size=4))
def test_a_longer_log_only_adds_to_the_request(log: list[Message], more: list[Message]) -> None:
    """A70: what the next reply was bound to stays byte for byte."""
    sent = wire(HI, *log)
    later = wire(HI, *log, says("reply"), *more)
    assert json.dumps(later[: len(sent)]) == json.dumps(sent) or sent[-1]["role"] == "assistant"
    assert json.dumps(wire(HI, *log)) == json.dumps(sent)
