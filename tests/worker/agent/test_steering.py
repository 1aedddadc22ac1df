"""When queued messages enter a run (A11-A22)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from tests.fakes.model import ScriptedModel, call, calls, says
from tests.support.agent_bench import FakeTool, Gate, agent_with, check_nesting, outline, user
from worker.agent.agent import Agent
from worker.agent.events import AgentEvent, MessageEnd, RunReason, TurnStart
from worker.agent.messages import AssistantMessage, UserMessage
from worker.agent.queue import QueueMode
from worker.tools import ToolContext, ToolResult


def steering_tool(agents: list[Agent], *texts: str, name: str = "run") -> FakeTool:
    """A tool during whose first call people say something."""
    waiting = list(texts)

    async def body(_args: Mapping[str, object], _context: ToolContext) -> ToolResult:
        while waiting:
            agents[0].steer(user(waiting.pop(0)))
        return ToolResult("ok")

    return FakeTool(name, body)


async def test_a_steer_during_the_first_of_two_tools_comes_after_both() -> None:
    """A11"""
    agents: list[Agent] = []
    model = ScriptedModel(calls(call("run", 1), call("run", 2)))
    tool = steering_tool(agents, "look here")
    agents.append(agent_with(model, tool)[0])
    await agents[0].prompt("hi")
    assert len(tool.seen) == 2
    assert model.results(1) == [("ok", False), ("ok", False)]
    assert model.user_texts(1) == ["look here"]


async def test_a_steer_queued_while_idle_follows_the_prompt_in_the_first_request() -> None:
    """A12"""
    model = ScriptedModel()
    agent, _ = agent_with(model)
    agent.steer(user("and quickly"))
    await agent.prompt("hi")
    assert [model.user_texts(0), len(model.requests)] == [["hi", "and quickly"], 1]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        pytest.param(QueueMode.ONE, [["one"], ["two"], ["three"]], id="A13 one at a time"),
        pytest.param(QueueMode.ALL, [["one", "two", "three"]], id="A14 all"),
    ],
)
async def test_three_steers_enter_by_the_mode_of_the_queue(
    mode: QueueMode, expected: list[list[str]]
) -> None:
    agents: list[Agent] = []
    model = ScriptedModel(calls(call("run")))
    tool = steering_tool(agents, "one", "two", "three")
    agents.append(agent_with(model, tool, steering_mode=mode)[0])
    await agents[0].prompt("hi")
    assert [model.user_texts(i) for i in range(1, len(model.requests))] == expected


async def test_a_steer_while_the_final_text_streams_goes_on_instead_of_ending() -> None:
    """A15"""
    agents: list[Agent] = []

    async def reply() -> AssistantMessage:
        agents[0].steer(user("wait"))
        return says("final")

    model = ScriptedModel(reply, says("really final"))
    agent, events = agent_with(model)
    agents.append(agent)
    assert (await agent.prompt("hi")).text == "really final"
    assert model.user_texts(1) == ["wait"]
    assert outline(events).count("AgentStart") == 1


async def test_a_follow_up_waits_for_the_tool_chain_and_for_steers() -> None:
    """A16, A17, A20"""
    agents: list[Agent] = []
    model = ScriptedModel(calls(call("run", 1)), calls(call("run", 2)), says("first part"))
    tool = steering_tool(agents, "steer")
    agent, events = agent_with(model, tool)
    agents.append(agent)
    agent.follow_up(user("afterwards"))
    await agent.prompt("hi")
    texts = [model.user_texts(i) for i in range(4)]
    assert texts == [["hi"], ["steer"], [], ["afterwards"]]
    assert outline(events).count("AgentStart") == 1


async def test_cleared_messages_are_handed_back_and_never_delivered() -> None:
    """A19"""
    model = ScriptedModel()
    agent, _ = agent_with(model)
    agent.steer(user("steer"))
    agent.follow_up(user("follow"))
    assert [agent.pending, agent.clear_pending(), agent.pending] == [
        (user("steer"), user("follow")),
        (user("steer"), user("follow")),
        (),
    ]
    await agent.prompt("hi")
    assert model.user_texts(0) == ["hi"]


async def test_a_steer_that_an_abort_keeps_out_is_delivered_once_in_the_next_run() -> None:
    """A22"""
    agents: list[Agent] = []
    model = ScriptedModel(calls(call("run")))
    tool = steering_tool(agents, "look here")
    agent, events = agent_with(model, tool)
    agents.append(agent)

    async def abort_second_turn(event: AgentEvent) -> None:
        if event == TurnStart(2):
            agent.abort()

    agent.subscribe(abort_second_turn)
    assert (await agent.prompt("hi")).reason is RunReason.ABORTED
    check_nesting(events)
    assert len(model.requests) == 1
    assert agent.pending == (user("look here"),)
    await agent.prompt("go on")
    delivered = [m for m in agent.messages if m == user("look here")]
    assert len(delivered) == 1
    assert model.user_texts(1) == ["go on", "look here"]


async def test_an_abort_leaves_the_queues_alone() -> None:
    gate = Gate()

    async def hang() -> AssistantMessage:
        await gate.wait()
        return says("never")

    agent, _ = agent_with(ScriptedModel(hang))
    async with asyncio.TaskGroup() as group:
        run = group.create_task(agent.prompt("hi"))
        await gate.reached.wait()
        agent.steer(user("stop it"))
        agent.follow_up(user("then that"))
        agent.abort()
    assert run.result().reason is RunReason.ABORTED
    assert agent.pending == (user("stop it"), user("then that"))


async def test_a_follow_up_that_an_abort_keeps_out_waits_again_for_the_end() -> None:
    model = ScriptedModel(says("one"), calls(call("run")), says("two"))
    agent, _ = agent_with(model, FakeTool("run"))
    agent.follow_up(user("afterwards"))

    async def abort_second_turn(event: AgentEvent) -> None:
        if event == TurnStart(2) and len(model.requests) == 1:
            agent.abort()

    agent.subscribe(abort_second_turn)
    await agent.prompt("hi")
    assert agent.pending == (user("afterwards"),)
    await agent.prompt("go on")
    assert [model.user_texts(i) for i in (1, 2, 3)] == [["go on"], [], ["afterwards"]]


async def test_a_message_keeps_its_reference_so_that_its_sender_can_be_told() -> None:
    agent, events = agent_with(ScriptedModel())
    await agent.prompt(UserMessage("hi", reference="msgid-1"))
    entered = [event.message for event in events if isinstance(event, MessageEnd)]
    assert entered[0] == UserMessage("hi", reference="msgid-1")
