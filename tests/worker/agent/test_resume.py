"""A conversation that was cut off anywhere goes on legally, and begins like before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.model import MODEL, ScriptedModel, call, calls, says, without_marks
from tests.support.agent_bench import FakeTool, agent_with
from tests.support.request_rules import check_request
from tests.support.tool_calls import run_now
from worker.agent.agent import Agent, AgentConfig
from worker.agent.messages import StopReason, UserMessage
from worker.agent.request import ModelRequest, render
from worker.agent.transcript import Header, Transcript
from worker.tools import ToolContext, ToolResult

HEADER = Header("You are a test.", (FakeTool("run").spec,), "ROOM-1", MODEL)
BACK = UserMessage("You are back after an interruption.")


def blocks_of(messages: Any) -> str:
    """The bytes of all blocks in order; who spoke is part of each."""
    parts = [
        json.dumps([message["role"], block]) for message in messages for block in message["content"]
    ]
    return "\n".join(parts)


def size_of(path: Path) -> int:
    return path.stat().st_size


async def converse(path: Path) -> tuple[ScriptedModel, list[int]]:
    """A conversation with everything that can be cut; the file's size at each request."""
    sizes: list[int] = []
    transcript = Transcript.create(path, HEADER)

    async def body(_args: Mapping[str, object], _context: ToolContext) -> ToolResult:
        agent.steer(UserMessage("mind the tabs", "m1"))
        return ToolResult("some output")

    class Measured(ScriptedModel):
        async def stream(self, request: ModelRequest) -> Any:
            sizes.append(size_of(path))
            async for event in super().stream(request):
                yield event

    model = Measured(
        calls(call("run", 1), call("run", 2), text="I look."),
        says("half of", StopReason.MAX_TOKENS),
        calls(call("run", 3), call("nothing", 4)),
        ConnectionError("lost"),
        says("again", StopReason.END_TURN),
    )
    agent = Agent(AgentConfig(HEADER.system, model, (FakeTool("run", body),), transcript))
    await agent.prompt("do it")
    await agent.prompt("go on")
    transcript.close()
    return model, sizes


@pytest.fixture(scope="module")
def conversation(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[tuple[int, str]]]:
    path = tmp_path_factory.mktemp("resume") / "transcript.jsonl"
    model, sizes = run_now(converse(path))
    sent = [blocks_of(messages) for messages in model.requests]
    assert len(sent) >= 5
    return path.read_bytes(), list(zip(sizes, sent, strict=True))


def after(path: Path, data: bytes) -> str:
    """The first request of a worker that finds this."""
    path.write_bytes(data)
    old = Transcript.load(path)
    assert old is not None
    old.append(BACK)
    old.close()
    again = Transcript.load(path)
    assert again is not None
    again.close()
    assert again.messages == (*old.messages, BACK)
    request = ModelRequest(again.header.system, again.header.tools, again.messages)
    rendered = render(request, MODEL)
    check_request(rendered)
    return blocks_of(without_marks(rendered["messages"]))


@settings(max_examples=300, deadline=None)
@given(cuts=st.lists(st.integers(0, 10**6), min_size=1, max_size=3))
def test_cut_off_at_any_byte_and_again_it_goes_on_where_it_was(
    conversation: tuple[bytes, list[tuple[int, str]]],
    tmp_path_factory: pytest.TempPathFactory,
    cuts: list[int],
) -> None:
    data, sent = conversation
    header = data.index(b"\n") + 1
    path = tmp_path_factory.getbasetemp() / "resumed.jsonl"
    cut = header + cuts[0] % (len(data) - header + 1)
    first = after(path, data[:cut])
    known = [request for size, request in sent if size <= cut]
    assert all(first.startswith(request) for request in known)
    for more in cuts[1:]:  # the file only grows, so a later kill cuts behind the last request
        whole = path.read_bytes()
        second = after(path, whole + b'{"type": "message", "role": "us'[: more % 30])
        assert second.startswith(first)
        first = second


async def test_the_agent_itself_goes_on_from_a_call_that_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    await converse(path)
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join(lines[:3]) + b"\n")  # header, prompt, the reply with two calls
    model = ScriptedModel()
    agent, _ = agent_with(model, FakeTool("run"), transcript=Transcript.load(path))
    await agent.prompt(BACK)
    assert [is_error for _, is_error in model.results(0)] == [True, True]
    assert model.user_texts(0) == [BACK.text]
