"""Runs from the owner's side: events, listeners, busy and idle, continue (A01-A10, A25-A31)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.fakes.model import MODEL, ScriptedModel, call, calls, says
from tests.support.agent_bench import FakeTool, Gate, agent_with, check_nesting, outline, user
from worker.agent.errors import AgentBusy, NothingToContinue
from worker.agent.events import (
    AgentEnd,
    AgentEvent,
    MessageEnd,
    RunEnd,
    RunReason,
    TextDelta,
    TurnEnd,
)
from worker.agent.messages import (
    AssistantMessage,
    StopReason,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from worker.agent.queue import QueueMode
from worker.agent.transcript import Header, Transcript


async def test_events_of_a_plain_reply_come_in_order() -> None:
    """A01"""
    deltas = [TextDelta("hel"), TextDelta("lo")]
    agent, events = agent_with(ScriptedModel(says("hello"), deltas=deltas))
    end = await agent.prompt("hi")
    assert end == RunEnd(RunReason.COMPLETED, "hello")
    assert outline(events) == [
        *("AgentStart", "TurnStart", "user+", "user-"),
        *("assistant+", "MessageUpdate", "MessageUpdate", "assistant-"),
        *("TurnEnd", "AgentEnd"),
    ]


async def test_prompt_and_idle_wait_for_slow_listeners() -> None:
    """A02"""
    agent, _ = agent_with(ScriptedModel())
    gate = Gate()

    async def slow(event: AgentEvent) -> None:
        if isinstance(event, AgentEnd):
            await gate.wait()

    agent.subscribe(slow)
    async with asyncio.TaskGroup() as group:
        prompt = group.create_task(agent.prompt("hi"))
        idle = group.create_task(agent.wait_for_idle())
        await gate.reached.wait()
        assert agent.running
        assert not prompt.done()
        gate.opened.set()
    assert idle.done()
    assert not agent.running


async def test_listeners_are_awaited_in_order_and_no_longer_once_unsubscribed() -> None:
    """A03"""
    agent, _ = agent_with(ScriptedModel())
    heard: list[str] = []

    async def first(event: AgentEvent) -> None:
        heard.append(f"first {type(event).__name__}")
        await asyncio.sleep(0)
        heard.append("first done")

    async def second(event: AgentEvent) -> None:
        heard.append(f"second {type(event).__name__}")

    agent.subscribe(first)
    forget = agent.subscribe(second)
    await agent.prompt("hi")
    assert heard[:3] == ["first AgentStart", "first done", "second AgentStart"]
    assert heard[-1] == "second AgentEnd"
    forget()
    await agent.prompt("again")
    assert heard[-1] == "first done"


async def test_a_listener_of_the_reply_is_done_before_a_tool_starts() -> None:
    """A04"""
    order: list[str] = []
    tool = FakeTool("run")
    agent, _ = agent_with(ScriptedModel(calls(call("run"))), tool)

    async def persist(event: AgentEvent) -> None:
        if isinstance(event, MessageEnd) and isinstance(event.message, AssistantMessage):
            await asyncio.sleep(0)
            order.append(f"kept, {len(tool.seen)} calls ran")

    agent.subscribe(persist)
    await agent.prompt("hi")
    assert order == ["kept, 0 calls ran", "kept, 1 calls ran"]


async def test_a_stream_with_only_its_end_still_starts_a_message() -> None:
    """A05"""
    agent, events = agent_with(ScriptedModel(says("hello"), deltas=()))
    await agent.prompt("hi")
    assert outline(events)[4:6] == ["assistant+", "assistant-"]


async def test_the_end_of_a_run_lists_only_what_the_run_added() -> None:
    """A06"""
    agent, events = agent_with(ScriptedModel(says("one"), says("two")))
    await agent.prompt("first")
    await agent.prompt("second")
    ends = [event for event in events if isinstance(event, AgentEnd)]
    assert ends[1] == AgentEnd((user("second"), says("two")), RunEnd(RunReason.COMPLETED, "two"))
    assert agent.messages == (user("first"), says("one"), user("second"), says("two"))


async def test_a_second_prompt_is_refused_and_the_run_goes_on() -> None:
    """A08"""
    gate = Gate()

    async def reply() -> AssistantMessage:
        await gate.wait()
        return says("hello")

    agent, events = agent_with(ScriptedModel(reply))
    async with asyncio.TaskGroup() as group:
        run = group.create_task(agent.prompt("hi"))
        await gate.reached.wait()
        with pytest.raises(AgentBusy, match="steer"):
            await agent.prompt("me too")
        with pytest.raises(AgentBusy):
            await agent.continue_()
        gate.opened.set()
    assert run.result().reason is RunReason.COMPLETED
    check_nesting(events)


async def test_a_model_that_raises_gives_a_failed_reply_and_a_whole_ending() -> None:
    """A09"""
    agent, events = agent_with(ScriptedModel(RuntimeError("no such host")))
    end = await agent.prompt("hi")
    assert end == RunEnd(RunReason.ERROR, error="no such host")
    assert outline(events)[4:] == ["assistant+", "assistant-", "TurnEnd", "AgentEnd"]
    assert isinstance(agent.messages[-1], AssistantMessage)
    assert agent.messages[-1].stop_reason is StopReason.ERROR


async def test_a_listener_that_raises_does_not_hurt_the_run() -> None:
    agent, events = agent_with(ScriptedModel(says("fine")))

    async def broken(_event: AgentEvent) -> None:
        raise ConnectionError("channel gone")

    agent.subscribe(broken)
    assert await agent.prompt("hi") == RunEnd(RunReason.COMPLETED, "fine")
    check_nesting(events)


async def test_waiting_while_idle_returns_at_once() -> None:
    """A10"""
    agent, _ = agent_with(ScriptedModel())
    await agent.wait_for_idle()


async def test_continuing_an_empty_conversation_is_an_error() -> None:
    """A25, A26"""
    agent, events = agent_with(ScriptedModel())
    with pytest.raises(NothingToContinue, match="no messages"):
        await agent.continue_()
    assert events == []


async def test_continuing_after_tool_results_asks_without_user_events(tmp_path: Path) -> None:
    """A27"""
    model = ScriptedModel(says("done"))
    stored = (user("hi"), calls(call("run")), ToolResultMessage("call_1", "run", "ok"))
    agent, events = agent_with(model, transcript=stored_transcript(tmp_path, *stored))
    await agent.continue_()
    assert model.results(0) == [("ok", False)]
    assert outline(events)[:3] == ["AgentStart", "TurnStart", "assistant+"]


async def test_continuing_after_a_failed_reply_asks_again() -> None:
    model = ScriptedModel(ConnectionError("down"), says("better"))
    agent, _ = agent_with(model)
    await agent.prompt("hi")
    assert (await agent.continue_()).text == "better"
    assert model.requests[0] == model.requests[1]


async def test_continuing_a_finished_conversation_takes_one_steer_and_leaves_the_next() -> None:
    """A28"""
    model = ScriptedModel()
    agent, _ = agent_with(model, steering_mode=QueueMode.ONE)
    await agent.prompt("hi")
    agent.steer(user("one"))
    agent.steer(user("two"))
    await agent.continue_()
    assert [model.user_texts(1), model.user_texts(2)] == [["one"], ["two"]]


async def test_continuing_a_finished_conversation_takes_a_follow_up() -> None:
    """A29"""
    model = ScriptedModel()
    agent, _ = agent_with(model)
    await agent.prompt("hi")
    agent.follow_up(user("and then"))
    await agent.continue_()
    assert model.user_texts(1) == ["and then"]


async def test_continuing_a_finished_conversation_with_nothing_queued_names_the_role() -> None:
    """A30"""
    agent, _ = agent_with(ScriptedModel())
    await agent.prompt("hi")
    with pytest.raises(NothingToContinue, match="assistant's"):
        await agent.continue_()


async def test_aborting_while_idle_does_nothing_to_the_next_prompt() -> None:
    """A59"""
    agent, _ = agent_with(ScriptedModel(says("hello")))
    agent.abort()
    assert (await agent.prompt("hi")).reason is RunReason.COMPLETED


async def test_the_transcript_is_written_before_listeners_hear_of_a_message(
    tmp_path: Path,
) -> None:
    transcript = stored_transcript(tmp_path)
    agent, _ = agent_with(ScriptedModel(says("hello")), transcript=transcript)
    on_disk: list[int] = []

    async def look(event: AgentEvent) -> None:
        if isinstance(event, MessageEnd | TurnEnd):
            text = await asyncio.to_thread(transcript.path.read_text)
            on_disk.append(text.count("\n"))

    agent.subscribe(look)
    await agent.prompt("hi")
    assert on_disk == [2, 3, 3]
    loaded = Transcript.load(transcript.path)
    assert loaded is not None
    assert loaded.messages == agent.messages


async def test_a_run_stops_when_its_words_cannot_be_kept(tmp_path: Path) -> None:
    transcript = stored_transcript(tmp_path)
    transcript.close()
    model = ScriptedModel(says("hello"))
    agent, events = agent_with(model, transcript=transcript)
    end = await agent.prompt("hi")
    assert end.reason is RunReason.ERROR
    assert "cannot write the transcript" in end.error
    assert model.requests == []
    assert events[-1] == AgentEnd(agent.messages, end)
    check_nesting(events)


async def test_totals_count_all_replies_of_the_conversation() -> None:
    agent, _ = agent_with(ScriptedModel(says("one"), says("two")))
    await agent.prompt("a")
    await agent.prompt("b")
    assert agent.totals.usage == Usage(20, 10)
    assert agent.totals.usd is None, "the scripted model has no price"


def stored_transcript(
    folder: Path, *messages: UserMessage | AssistantMessage | ToolResultMessage
) -> Transcript:
    path = folder / "transcript.jsonl"
    created = Transcript.create(path, Header("You are a test.", (), "fence", MODEL))
    for message in messages:
        created.append(message)
    created.close()
    loaded = Transcript.load(path)
    assert loaded is not None
    return loaded
