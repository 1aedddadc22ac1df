"""Through the real SDK, with a transport that plays the API (S01-S14)."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest

from tests.support.agent_bench import FakeTool, Gate, agent_with, check_nesting, user
from tests.support.messages_api import KEY, messages_api
from tests.support.messages_api import Answer as Scripted
from tests.support.request_rules import check_request
from worker.agent.anthropic_model import AnthropicConfig, AnthropicModel
from worker.agent.events import (
    MessageUpdate,
    ModelEvent,
    ReplyDone,
    Retrying,
    RunReason,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    UsageUpdate,
)
from worker.agent.messages import (
    AssistantMessage,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    Usage,
)
from worker.agent.request import ModelRequest
from worker.agent.retry import RetryPolicy

MODEL = "claude-sonnet-5"
ASKED = ModelRequest("be good", (FakeTool("run").spec,), (user("hi \ud83d"),))
Answer = httpx2.Response | Exception
FAST = RetryPolicy(retries=2, first_pause_seconds=0.01)


def start(**usage: int) -> dict[str, Any]:
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1, **usage},
    }
    return {"type": "message_start", "message": message}


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text(index: int, *parts: str) -> list[dict[str, Any]]:
    deltas = [{"type": "text_delta", "text": part} for part in parts]
    return block(index, {"type": "text", "text": ""}, *deltas)


def tool(index: int, *parts: str) -> list[dict[str, Any]]:
    deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
    content = {"type": "tool_use", "id": f"toolu_{index}", "name": "run", "input": {}}
    return block(index, content, *deltas)


def stop(reason: str, output_tokens: int = 7, **delta: Any) -> list[dict[str, Any]]:
    return [
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None, **delta},
            "usage": {"output_tokens": output_tokens},
        },
        {"type": "message_stop"},
    ]


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events
    )


def streamed(body: bytes | AsyncIterator[bytes]) -> httpx2.Response:
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)


def refused(status: int, kind: str, **headers: str) -> httpx2.Response:
    error = {"type": "error", "error": {"type": kind, "message": "no"}}
    return httpx2.Response(status, json=error, headers=headers)


HELLO = sse(start(), *text(0, "hel", "lo"), *stop("end_turn"))


class Api:
    """Answers requests in turn, and keeps them."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.requests: list[httpx2.Request] = []

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def model_of(api: Callable[..., Any], retry: RetryPolicy = FAST) -> AnthropicModel:
    client = httpx2.AsyncClient(transport=httpx2.MockTransport(api))
    return AnthropicModel(AnthropicConfig(MODEL, "sk-key", "http://api.test", retry=retry), client)


async def events_of(*answers: Answer) -> list[ModelEvent]:
    model = model_of(Api(*answers))
    events = [event async for event in model.stream(ASKED)]
    await model.close()
    return events


async def reply_of(*answers: Answer) -> AssistantMessage:
    last = (await events_of(*answers))[-1]
    assert isinstance(last, ReplyDone)
    return last.message


async def test_a_reply_comes_as_deltas_and_then_whole() -> None:
    body = sse(
        start(cache_read_input_tokens=3, cache_creation_input_tokens=4),
        {"type": "ping"},
        *block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "hm"},
            {"type": "signature_delta", "signature": "sig=="},
        ),
        *text(1, "hel", "lo"),
        *tool(2, '{"path": ', '"x"}'),
        *stop("tool_use"),
    )
    content = (
        ThinkingBlock("hm", "sig=="),
        TextBlock("hello"),
        ToolCall("toolu_2", "run", {"path": "x"}),
    )
    final = AssistantMessage(content, StopReason.TOOL_USE, MODEL, Usage(10, 7, 3, 4))
    assert await events_of(streamed(body)) == [
        UsageUpdate(Usage(10, 1, 3, 4)),
        ThinkingDelta("hm"),
        TextDelta("hel"),
        TextDelta("lo"),
        ToolCallDelta("toolu_2", "run"),
        ToolCallDelta("toolu_2", json='{"path": '),
        ToolCallDelta("toolu_2", json='"x"}'),
        UsageUpdate(Usage(10, 7, 3, 4)),
        ReplyDone(final),
    ]


async def test_the_request_is_legal_and_goes_where_it_was_told_to_with_the_key() -> None:
    """S13: a lone surrogate does not stop it."""
    api = Api(streamed(HELLO))
    model = model_of(api)
    _ = [event async for event in model.stream(ASKED)]
    await model.close()
    [request] = api.requests
    assert str(request.url) == "http://api.test/v1/messages"
    assert request.headers["x-api-key"] == "sk-key"
    assert "authorization" not in request.headers
    body = json.loads(request.content)
    assert (body["model"], body["stream"], body["max_tokens"]) == (MODEL, True, 32_000)
    check_request(body)


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(streamed(sse(start(), *text(0, "half"))), id="S01 cut off"),
        pytest.param(streamed(b""), id="S02 empty body"),
        pytest.param(
            streamed(
                sse(
                    start(),
                    *text(0, "half"),
                    {"type": "error", "error": {"type": "overloaded_error", "message": "no"}},
                )
            ),
            id="S03 overloaded in mid-stream",
        ),
        pytest.param(refused(529, "overloaded_error"), id="S04 overloaded at the start"),
        pytest.param(refused(429, "rate_limit_error"), id="rate limit"),
        pytest.param(refused(500, "api_error"), id="server error"),
        pytest.param(httpx2.ConnectError("no route"), id="S12 no connection"),
        pytest.param(httpx2.ReadTimeout("slow"), id="read timeout"),
        pytest.param(streamed(b"event: message_start\ndata: {oops\n\n"), id="no JSON"),
    ],
)
async def test_what_may_pass_is_tried_again_and_what_was_streamed_is_void(first: Answer) -> None:
    events = await events_of(first, streamed(HELLO))
    [retry] = [event for event in events if isinstance(event, Retrying)]
    assert (retry.attempt, 0.0 < retry.delay_seconds <= 0.01) == (1, True)
    last = events[-1]
    assert isinstance(last, ReplyDone)
    assert (last.message.text, last.message.stop_reason) == ("hello", StopReason.END_TURN)


async def test_a_connection_that_breaks_in_mid_stream_is_tried_again() -> None:
    """S11"""

    async def breaking() -> AsyncIterator[bytes]:
        yield sse(start(), *text(0, "half"))
        raise httpx2.ReadError("connection reset")

    reply = await reply_of(streamed(breaking()), streamed(HELLO))
    assert reply.text == "hello"
    assert reply.wasted == Usage(10, 1), "the broken try was billed"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (402, "billing_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
    ],
)
async def test_what_will_not_pass_is_an_error_at_once(status: int, kind: str) -> None:
    reply = await reply_of(refused(status, kind))
    assert reply.stop_reason is StopReason.ERROR
    assert f"{status} {kind}" in reply.error
    assert "sk-key" not in reply.error


async def test_tries_come_to_an_end() -> None:
    events = await events_of(*[refused(529, "overloaded_error")] * 3)
    assert [type(event) for event in events] == [Retrying, Retrying, ReplyDone]


async def test_a_server_that_asks_for_a_short_pause_gets_it() -> None:
    """S05"""
    answers = [refused(429, "rate_limit_error", **{"retry-after": "0.02"}), streamed(HELLO)]
    events = await events_of(*answers)
    assert events[0] == Retrying(1, 0.02, "the API answered 429 rate_limit_error: no")


async def test_a_server_that_asks_for_a_long_pause_is_not_waited_for() -> None:
    reply = await reply_of(refused(429, "rate_limit_error", **{"retry-after": "3600"}))
    assert reply.stop_reason is StopReason.ERROR


async def test_unreadable_tool_input_is_kept_for_the_model_to_see_and_nothing_runs() -> None:
    """S06"""
    body = sse(start(), *text(0, "I will run"), *tool(1, '{"path": nope'), *stop("tool_use"))
    reply = await reply_of(streamed(body))
    call = ToolCall("toolu_1", "run", {}, malformed='{"path": nope')
    assert reply.content == (TextBlock("I will run"), call)
    assert reply.stop_reason is StopReason.BROKEN


@pytest.mark.parametrize("parts", [['{"path": "x"'], ['["x"]']])
async def test_input_that_is_no_whole_object_is_malformed(parts: list[str]) -> None:
    """S08"""
    reply = await reply_of(streamed(sse(start(), *tool(0, *parts), *stop("tool_use"))))
    assert reply.content == (ToolCall("toolu_0", "run", {}, malformed=parts[0]),)


async def test_a_call_cut_off_by_the_length_limit_never_runs() -> None:
    """S07"""
    body = sse(start(), *tool(0, '{"path": "x", "content": "unfini'), *stop("max_tokens"))
    api = Api(streamed(body), streamed(HELLO))
    run = FakeTool("run")
    agent, events = agent_with(model_of(api), run)
    assert (await agent.prompt("hi")).text == "hello"
    assert run.seen == []
    check_nesting(events)
    check_request(json.loads(api.requests[1].content))


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", StopReason.END_TURN),
        ("stop_sequence", StopReason.END_TURN),
        ("max_tokens", StopReason.MAX_TOKENS),
        ("model_context_window_exceeded", StopReason.CONTEXT_FULL),
        ("pause_turn", StopReason.PAUSE_TURN),
        ("brand_new", StopReason.ERROR),
    ],
)
async def test_stop_reasons_are_ours(reason: str, expected: StopReason) -> None:
    """S09, S10: empty content and unknown reasons are no accident of the stream."""
    reply = await reply_of(streamed(sse(start(), *stop(reason))))
    assert (reply.stop_reason, reply.content) == (expected, ())


async def test_a_refusal_says_its_category() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "Not this."}
    body = sse(start(), *text(0, "I"), *stop("refusal", stop_details=details))
    reply = await reply_of(streamed(body))
    assert reply.stop_reason is StopReason.REFUSAL
    assert reply.error == "the model declined (cyber) Not this."


async def test_blocks_that_we_do_not_know_are_kept_as_they_came() -> None:
    strange = {"type": "hologram", "data": [1, 2]}
    body = sse(start(), *block(0, strange), *stop("end_turn"))
    [kept] = (await reply_of(streamed(body))).content
    assert kept.data == strange  # type: ignore[union-attr]


async def test_an_hour_of_cache_is_counted_apart() -> None:
    first = start(cache_creation_input_tokens=10)
    first["message"]["usage"]["cache_creation"] = {
        "ephemeral_1h_input_tokens": 8,
        "ephemeral_5m_input_tokens": 2,
    }
    reply = await reply_of(streamed(sse(first, *stop("end_turn"))))
    assert reply.usage == Usage(10, 7, 0, 2, 8)


async def test_an_abort_in_mid_stream_closes_the_connection_and_counts_the_cost() -> None:
    """S14"""
    gate = Gate()
    closed = asyncio.Event()

    async def hanging() -> AsyncIterator[bytes]:
        try:
            yield sse(start(), *text(0, "half a word"))
            await gate.wait()
        finally:
            closed.set()

    agent, events = agent_with(model_of(Api(streamed(hanging()))))
    async with asyncio.TaskGroup() as group:
        run = group.create_task(agent.prompt("hi"))
        await gate.reached.wait()
        agent.abort()
    assert run.result().reason is RunReason.ABORTED
    assert closed.is_set()
    content = (TextBlock("half a word"),)
    assert agent.messages[-1] == AssistantMessage(content, StopReason.ABORTED, MODEL, Usage(10, 1))
    check_nesting(events)


async def test_an_abort_ends_the_pause_before_a_retry() -> None:
    """A60"""
    api = Api(streamed(sse(start(), *text(0, "half"))))
    agent, events = agent_with(model_of(api, RetryPolicy(first_pause_seconds=3600)))
    waiting = asyncio.Event()

    async def listen(_event: object) -> None:
        match events[-1]:
            case MessageUpdate(Retrying()):
                waiting.set()
            case _:
                pass

    agent.subscribe(listen)
    async with asyncio.TaskGroup() as group:
        run = group.create_task(agent.prompt("hi"))
        await waiting.wait()
        agent.abort()
    assert run.result().reason is RunReason.ABORTED
    aborted = AssistantMessage((), StopReason.ABORTED, MODEL, wasted=Usage(10, 1))
    assert agent.messages[-1] == aborted, "the text of the broken try is void, its cost is not"


def test_the_sdk_is_not_loaded_with_the_module() -> None:
    code = "import sys, worker.agent.anthropic_model; print('anthropic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_key_is_not_shown() -> None:
    assert "sk-key" not in repr(AnthropicConfig(MODEL, "sk-key"))


async def test_a_stream_that_falls_silent_is_asked_for_again() -> None:
    async with messages_api(Scripted("Wait", ends="silent"), Scripted("Here")) as api:
        config = AnthropicConfig(MODEL, KEY, api.url, silence_seconds=0.2, retry=FAST)
        model = AnthropicModel(config)
        events = [event async for event in model.stream(ASKED)]
        await model.close()
    [again] = [event for event in events if isinstance(event, Retrying)]
    assert again.reason == "the connection to the API failed: ReadTimeout"
    assert isinstance(events[-1], ReplyDone)
    assert events[-1].message.text == "Here"
