"""What happens to a reply's tool calls (A33-A57)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.fakes.model import MODEL, ScriptedModel, call, calls, says
from tests.support.agent_bench import (
    FakeTool,
    Gate,
    agent_with,
    check_nesting,
    gives,
    outline,
    user,
)
from worker.agent.events import (
    AgentEvent,
    RunEnd,
    RunReason,
    TextDelta,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from worker.agent.limits import Limits
from worker.agent.loop import CUT_OFF, NOT_ASKED
from worker.agent.messages import (
    AssistantMessage,
    StopReason,
    ToolCall,
    ToolResultMessage,
)
from worker.agent.request import NO_OUTPUT
from worker.agent.toolcalls import ABORTED_TEXT, Allow, Deny
from worker.tools import ToolContext, ToolResult

ONE_INT: Mapping[str, object] = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
}


async def test_a_denied_call_does_not_run_and_the_model_reads_why() -> None:
    """A33"""

    async def deny(_call: ToolCall, _args: Mapping[str, object]) -> Deny:
        return Deny("alice said no")

    model = ScriptedModel(calls(call("run")))
    tool = FakeTool("run")
    agent, events = agent_with(model, tool, before_tool=deny)
    assert (await agent.prompt("hi")).reason is RunReason.COMPLETED
    assert tool.seen == []
    assert model.results(1) == [("alice said no", True)]
    end = next(event for event in events if isinstance(event, ToolExecutionEnd))
    assert end.duration_seconds is None


async def test_the_check_may_change_arguments_and_they_are_not_validated_again() -> None:
    """A34"""

    async def change(_call: ToolCall, args: Mapping[str, object]) -> Allow:
        return Allow({**args, "n": "not a number"})

    tool = FakeTool("run", schema=ONE_INT)
    agent, _ = agent_with(ScriptedModel(calls(call("run", n=1))), tool, before_tool=change)
    await agent.prompt("hi")
    assert tool.seen == [{"n": "not a number"}]


async def test_a_check_that_raises_blocks_its_call_only() -> None:
    """A35"""

    async def check(asked: ToolCall, args: Mapping[str, object]) -> Allow:
        if asked.id == "call_1":
            raise RuntimeError("desk closed")
        return Allow(args)

    model = ScriptedModel(calls(call("run", 1), call("run", 2)))
    tool = FakeTool("run")
    agent, _ = agent_with(model, tool, before_tool=check)
    await agent.prompt("hi")
    (first, failed), second = model.results(1)
    assert "desk closed" in first
    assert (failed, second, len(tool.seen)) == (True, ("ok", False), 1)


async def test_what_comes_after_a_tool_may_replace_the_text_and_keeps_the_rest() -> None:
    """A36"""

    async def redact(_call: ToolCall, result: ToolResult) -> ToolResult:
        return replace(result, text="[redacted]")

    result = ToolResult("secret", is_error=True, details={"code": 3})
    tool = FakeTool("run", gives(result))
    agent, _ = agent_with(ScriptedModel(calls(call("run"))), tool, after_tool=redact)
    await agent.prompt("hi")
    expected = ToolResultMessage("call_1", "run", "[redacted]", True, {"code": 3})
    assert agent.messages[2] == expected


async def test_what_comes_after_a_tool_and_raises_fails_this_call_only() -> None:
    """A37"""

    async def broken(_call: ToolCall, _result: ToolResult) -> ToolResult:
        raise RuntimeError("no redaction, no result")

    model = ScriptedModel(calls(call("run")))
    agent, _ = agent_with(model, FakeTool("run"), after_tool=broken)
    assert (await agent.prompt("hi")).reason is RunReason.COMPLETED
    [(text, is_error)] = model.results(1)
    assert is_error
    assert "no redaction, no result" in text


def slow_then_quick() -> tuple[FakeTool, FakeTool]:
    """`slow` ends only after `quick` has."""
    quick_done = asyncio.Event()

    async def slow(_args: Mapping[str, object], _context: ToolContext) -> ToolResult:
        await quick_done.wait()
        return ToolResult("slow")

    async def quick(_args: Mapping[str, object], _context: ToolContext) -> ToolResult:
        quick_done.set()
        return ToolResult("quick")

    return FakeTool("slow", slow), FakeTool("quick", quick)


async def test_parallel_calls_end_as_they_finish_and_answer_in_their_order() -> None:
    """A42"""
    model = ScriptedModel(calls(call("slow", 1), call("quick", 2)))
    agent, events = agent_with(model, *slow_then_quick())
    await agent.prompt("hi")
    words = outline(events)
    start = words.index("slow:call_1+")
    assert words[start : start + 4] == [
        *("slow:call_1+", "quick:call_2+", "quick:call_2-", "slow:call_1-")
    ]
    assert model.results(1) == [("slow", False), ("quick", False)]


async def test_one_sequential_tool_makes_the_whole_batch_sequential() -> None:
    """A43"""
    model = ScriptedModel(calls(call("free", 1), call("single", 2), call("free", 3)))
    agent, events = agent_with(model, FakeTool("free"), FakeTool("single", sequential=True))
    await agent.prompt("hi")
    words = [word for word in outline(events) if ":call_" in word]
    assert words == [
        *("free:call_1+", "free:call_1-"),
        *("single:call_2+", "single:call_2-"),
        *("free:call_3+", "free:call_3-"),
    ]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(call("fly"), ["There is no tool 'fly'", "Tools: run"], id="A44 unknown tool"),
        pytest.param(
            ToolCall("call_1", "run", {}, malformed='{"n": 1'),
            ["not a JSON object", 'Received: {"n": 1'],
            id="A45 malformed JSON",
        ),
        pytest.param(
            call("run", n="many"),
            ["n: integer wanted, not string", 'Received: {"n": "many"}'],
            id="A46 wrong type",
        ),
        pytest.param(call("run"), ["n: required but missing"], id="A46 missing field"),
    ],
)
async def test_a_call_that_cannot_run_is_answered_with_the_reason(
    asked: ToolCall, expected: list[str]
) -> None:
    model = ScriptedModel(calls(asked))
    tool = FakeTool("run", schema=ONE_INT)
    agent, events = agent_with(model, tool)
    assert (await agent.prompt("hi")).reason is RunReason.COMPLETED
    [(text, is_error)] = model.results(1)
    assert is_error
    assert all(part in text for part in expected), text
    assert tool.seen == []
    check_nesting(events)


async def test_arguments_are_coerced_on_a_copy() -> None:
    """A46"""
    asked = call("run", n="42")
    tool = FakeTool("run", schema=ONE_INT)
    agent, _ = agent_with(ScriptedModel(calls(asked)), tool)
    await agent.prompt("hi")
    assert tool.seen == [{"n": 42}]
    assert agent.messages[1] == calls(call("run", n="42"))


async def test_a_tool_that_raises_gives_an_error_result_with_its_words() -> None:
    """A47"""

    async def broken(_args: Mapping[str, object], _context: ToolContext) -> ToolResult:
        raise FileNotFoundError("no such file: x")

    model = ScriptedModel(calls(call("run")))
    agent, _ = agent_with(model, FakeTool("run", broken))
    await agent.prompt("hi")
    assert model.results(1) == [("no such file: x", True)]


async def test_a_result_that_is_flagged_as_an_error_keeps_its_text() -> None:
    """A48"""
    model = ScriptedModel(calls(call("run")))
    agent, _ = agent_with(model, FakeTool("run", gives(ToolResult("exit 3", is_error=True))))
    await agent.prompt("hi")
    assert model.results(1) == [("exit 3", True)]


async def test_updates_come_in_order_before_the_end_and_not_after_it() -> None:
    """A49"""
    late: list[ToolContext] = []

    async def chatty(_args: Mapping[str, object], context: ToolContext) -> ToolResult:
        context.on_update("1")
        context.on_update("1 2")
        late.append(context)
        return ToolResult("1 2 3")

    agent, events = agent_with(ScriptedModel(calls(call("run"))), FakeTool("run", chatty))
    await agent.prompt("hi")
    late[0].on_update("too late")
    await agent.prompt("again")
    tool_events = [
        event
        for event in events
        if isinstance(event, ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd)
    ]
    assert tool_events[:3] == [
        ToolExecutionStart("call_1", "run", {}),
        ToolExecutionUpdate("call_1", "run", "1"),
        ToolExecutionUpdate("call_1", "run", "1 2"),
    ]
    assert [type(event) for event in tool_events[3:]] == [ToolExecutionEnd]


async def test_an_update_after_its_call_is_ignored_while_others_still_run() -> None:
    """A49"""
    contexts: list[ToolContext] = []
    settled = asyncio.Event()

    async def quick(_args: Mapping[str, object], context: ToolContext) -> ToolResult:
        contexts.append(context)
        return ToolResult("quick")

    async def slow(_args: Mapping[str, object], context: ToolContext) -> ToolResult:
        await settled.wait()
        contexts[0].on_update("too late")
        context.on_update("in time")
        return ToolResult("slow")

    model = ScriptedModel(calls(call("quick", 1), call("slow", 2)))
    agent, events = agent_with(model, FakeTool("quick", quick), FakeTool("slow", slow))

    async def listen(event: AgentEvent) -> None:
        if isinstance(event, ToolExecutionEnd):
            settled.set()

    agent.subscribe(listen)
    await agent.prompt("hi")
    updates = [event for event in events if isinstance(event, ToolExecutionUpdate)]
    assert updates == [ToolExecutionUpdate("call_2", "slow", "in time")]


STOPS = ToolResult("question asked", terminate=True, details={"question": "which?"})


async def test_a_run_ends_when_all_results_ask_for_it() -> None:
    """A50"""
    model = ScriptedModel(calls(call("ask"), text="I need to know."))
    agent, _ = agent_with(model, FakeTool("ask", gives(STOPS)))
    end = await agent.prompt("hi")
    result = ToolResultMessage("call_1", "ask", "question asked", details={"question": "which?"})
    assert end == RunEnd(RunReason.BLOCKED, "I need to know.", results=(result,))
    assert len(model.requests) == 1


async def test_a_run_goes_on_when_only_one_of_two_results_asks_to_end_it() -> None:
    """A51"""
    model = ScriptedModel(calls(call("ask", 1), call("run", 2)))
    agent, _ = agent_with(model, FakeTool("ask", gives(STOPS)), FakeTool("run"))
    assert (await agent.prompt("hi")).reason is RunReason.COMPLETED
    assert len(model.requests) == 2


@pytest.mark.parametrize("steered", [False, True])
async def test_a_result_that_ends_the_run_does_so_whatever_else_waits(steered: bool) -> None:
    """A38"""
    model = ScriptedModel(calls(call("ask", 1), call("run", 2), text="Which?"))

    async def body(_args: Mapping[str, object], _context: ToolContext) -> ToolResult:
        if steered:
            agent.steer(user("by the way"))
        return STOPS

    other = FakeTool("run")
    agent, events = agent_with(
        model, FakeTool("ask", body), other, ends_run=lambda results: bool(results[0].details)
    )
    end = await agent.prompt("hi")
    asked = ToolResultMessage("call_1", "ask", "question asked", details={"question": "which?"})
    ran = ToolResultMessage("call_2", "run", "ok")
    assert end == RunEnd(RunReason.BLOCKED, "Which?", results=(asked, ran))
    assert (len(model.requests), len(other.seen)) == (1, 1)
    assert agent.pending == ((user("by the way"),) if steered else ())
    check_nesting(events)


async def test_the_answer_to_a_question_follows_its_result_in_one_message() -> None:
    model = ScriptedModel(calls(call("ask")))
    agent, _ = agent_with(model, FakeTool("ask", gives(STOPS)))
    await agent.prompt("hi")
    await agent.prompt("the blue one")
    assert model.results(1) == [("question asked", False)]
    assert model.user_texts(1) == ["the blue one"]


@pytest.mark.parametrize("text", ["", " \n", "\N{ZERO WIDTH SPACE}"])
async def test_blank_output_is_kept_in_the_log_and_replaced_on_the_wire(text: str) -> None:
    """A52"""
    model = ScriptedModel(calls(call("run")))
    agent, _ = agent_with(model, FakeTool("run", gives(ToolResult(text))))
    await agent.prompt("hi")
    assert agent.messages[2] == ToolResultMessage("call_1", "run", text)
    assert model.results(1) == [(NO_OUTPUT, False)]


@pytest.mark.parametrize(
    ("stop_reason", "reason"),
    [
        pytest.param(StopReason.MAX_TOKENS, CUT_OFF, id="A54 length"),
        pytest.param(StopReason.CONTEXT_FULL, CUT_OFF, id="context full"),
        pytest.param(StopReason.BROKEN, CUT_OFF, id="unreadable input"),
        pytest.param(StopReason.END_TURN, NOT_ASKED, id="no tool use meant"),
    ],
)
async def test_calls_run_only_when_the_reply_stopped_for_them(
    stop_reason: StopReason, reason: str
) -> None:
    reply = AssistantMessage((call("run", 1), call("run", 2)), stop_reason, MODEL)
    model = ScriptedModel(reply)
    tool = FakeTool("run")
    agent, events = agent_with(model, tool)
    assert (await agent.prompt("hi")).reason is RunReason.COMPLETED
    assert tool.seen == []
    assert model.results(1) == [(reason, True), (reason, True)]
    check_nesting(events)


@pytest.mark.parametrize(
    ("stop_reason", "reason"),
    [
        pytest.param(StopReason.ERROR, RunReason.ERROR, id="A55 error"),
        pytest.param(StopReason.REFUSAL, RunReason.REFUSED, id="refusal"),
    ],
)
async def test_a_failed_reply_runs_no_tools_and_leaves_the_queues(
    stop_reason: StopReason, reason: RunReason
) -> None:
    reply = AssistantMessage((call("run"),), stop_reason, MODEL, error="overloaded")
    model = ScriptedModel(reply)
    tool = FakeTool("run")
    agent, _ = agent_with(model, tool)
    agent.follow_up(later := user("later"))
    assert await agent.prompt("hi") == RunEnd(reason, error="overloaded")
    assert (tool.seen, agent.pending) == ([], (later,))
    await agent.prompt("try again")
    assert model.user_texts(1) == ["hi", "try again"]


async def test_a_text_that_an_abort_cuts_off_is_kept_and_never_sent() -> None:
    """A56"""
    gate = Gate()

    async def hang() -> AssistantMessage:
        await gate.wait()
        return says("never")

    model = ScriptedModel(hang, deltas=[TextDelta("half a "), TextDelta("sentence")])
    agent, events = agent_with(model)
    async with asyncio.TaskGroup() as group:
        run = group.create_task(agent.prompt("hi"))
        await gate.reached.wait()
        agent.abort()
    assert run.result() == RunEnd(RunReason.ABORTED, "half a sentence")
    check_nesting(events)
    await agent.prompt("again")
    assert model.user_texts(1) == ["hi", "again"]


async def test_an_abort_answers_every_call_of_the_batch() -> None:
    """A57"""
    gate = Gate()
    asked: list[str] = []

    async def body(_args: Mapping[str, object], context: ToolContext) -> ToolResult:
        gate.reached.set()
        await context.aborted.wait()
        return ToolResult("stopped half way", is_error=True)

    async def ask(asking: ToolCall, args: Mapping[str, object]) -> Allow:
        asked.append(asking.id)
        return Allow(args)

    tool = FakeTool("run", body, sequential=True)
    model = ScriptedModel(calls(call("run", 1), call("run", 2), call("run", 3)))
    agent, events = agent_with(model, tool, before_tool=ask)
    async with asyncio.TaskGroup() as group:
        run = group.create_task(agent.prompt("hi"))
        await gate.reached.wait()
        agent.abort()
    assert run.result().reason is RunReason.ABORTED
    assert asked == ["call_1"]
    await agent.prompt("go on")
    aborted = (ABORTED_TEXT, True)
    assert model.results(1) == [("stopped half way", True), aborted, aborted]
    check_nesting(events)


async def test_a_tool_that_does_not_heed_an_abort_is_cancelled_after_a_grace() -> None:
    gate = Gate()

    async def deaf(_args: Mapping[str, object], _context: ToolContext) -> ToolResult:
        await gate.wait()
        return ToolResult("never")

    model = ScriptedModel(calls(call("run")))
    limits = Limits(abort_grace_seconds=0.05)
    agent, _ = agent_with(model, FakeTool("run", deaf), limits=limits)
    async with asyncio.TaskGroup() as group:
        run = group.create_task(agent.prompt("hi"))
        await gate.reached.wait()
        agent.abort()
        await asyncio.sleep(0)
        agent.abort()
    assert run.result().reason is RunReason.ABORTED
    assert agent.messages[-1] == ToolResultMessage("call_1", "run", ABORTED_TEXT, True)


async def test_an_abort_ends_a_check_that_waits_for_a_person() -> None:
    gate = Gate()

    async def ask(_call: ToolCall, args: Mapping[str, object]) -> Allow:
        await gate.wait()
        return Allow(args)

    tool = FakeTool("run")
    agent, _ = agent_with(ScriptedModel(calls(call("run"))), tool, before_tool=ask)
    async with asyncio.TaskGroup() as group:
        run = group.create_task(agent.prompt("hi"))
        await gate.reached.wait()
        agent.abort()
    assert run.result().reason is RunReason.ABORTED
    assert tool.seen == []
    assert agent.messages[-1] == ToolResultMessage("call_1", "run", ABORTED_TEXT, True)


async def test_a_cancelled_prompt_leaves_the_agent_usable() -> None:
    gate = Gate()

    async def hang(_args: Mapping[str, object], _context: ToolContext) -> ToolResult:
        await gate.wait()
        return ToolResult("never")

    model = ScriptedModel(calls(call("run")))
    agent, _ = agent_with(model, FakeTool("run", hang))
    async with asyncio.TaskGroup() as group:
        run = group.create_task(agent.prompt("hi"))
        await gate.reached.wait()
        run.cancel()
    assert run.cancelled()
    assert not agent.running
    assert (await agent.prompt("go on")).reason is RunReason.COMPLETED
    [(text, is_error)] = model.results(1)
    assert is_error
    assert "no result" in text
