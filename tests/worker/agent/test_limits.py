"""What ends a run that would go on for ever, and the second chances before that."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest

from tests.fakes.model import MODEL, ScriptedModel, call, calls, says
from tests.support.agent_bench import FakeTool, agent_with, check_nesting, gives, user
from worker.agent.cost import Price
from worker.agent.ending import NUDGE_CUT, NUDGE_EMPTY
from worker.agent.events import RunEnd, RunReason
from worker.agent.limits import Limits, repeat_notice
from worker.agent.messages import AssistantMessage, StopReason, UserMessage
from worker.tools import ToolContext, ToolResult

PRICES = {MODEL: Price(1_000_000, 0, 0, 0)}
"""One dollar per input token; a scripted reply has ten."""


async def test_a_run_stops_at_its_turns_and_the_next_prompt_goes_on() -> None:
    model = ScriptedModel(*[calls(call("run", n)) for n in range(3)])
    limits = Limits(turns=2)
    agent, events = agent_with(model, FakeTool("run"), limits=limits)
    end = await agent.prompt("hi")
    assert end == RunEnd(RunReason.TURNS, error="the limit of 2 turns is reached")
    assert len(model.requests) == 2
    check_nesting(events)
    agent.steer(user("more"))
    await agent.prompt("go on")
    assert model.user_texts(2) == ["go on", "more"]


async def test_a_run_stops_when_the_budget_is_spent() -> None:
    model = ScriptedModel(*[calls(call("run", n)) for n in range(3)])
    agent, _ = agent_with(model, FakeTool("run"), limits=Limits(budget_usd=15), prices=PRICES)
    end = await agent.prompt("hi")
    text = "the budget of $15.00 is used up ($20.00 spent)"
    assert end == RunEnd(RunReason.BUDGET, error=text)


async def test_a_prompt_over_budget_is_kept_but_not_answered() -> None:
    model = ScriptedModel(says("one"))
    agent, events = agent_with(model, limits=Limits(budget_usd=5), prices=PRICES)
    await agent.prompt("first")
    agent.steer(user("steer"))
    assert (await agent.prompt("second")).reason is RunReason.BUDGET
    assert len(model.requests) == 1
    assert user("second") in agent.messages
    assert agent.pending == (user("steer"),)
    check_nesting(events)


async def test_an_unknown_price_cannot_end_a_run() -> None:
    agent, _ = agent_with(ScriptedModel(says("one")), limits=Limits(budget_usd=0.01))
    assert (await agent.prompt("hi")).reason is RunReason.COMPLETED


async def test_equal_calls_with_equal_results_are_noticed_and_then_stopped() -> None:
    model = ScriptedModel(*[calls(call("run", n, path="x")) for n in range(9)])
    agent, events = agent_with(model, FakeTool("run"))
    end = await agent.prompt("hi")
    assert end.reason is RunReason.LOOP
    assert "6 times" in end.error
    texts = [model.results(i)[0][0] for i in range(1, 6)]
    noticed = [f"ok\n\n{repeat_notice(n)}" for n in (3, 4, 5)]
    assert texts == ["ok", "ok", *noticed]
    check_nesting(events)


async def test_polling_with_changing_results_is_no_loop() -> None:
    numbers = itertools.count()

    async def poll(_args: Mapping[str, object], _context: ToolContext) -> ToolResult:
        return ToolResult(f"{next(numbers)} %")

    model = ScriptedModel(*[calls(call("run", n)) for n in range(9)])
    agent, _ = agent_with(model, FakeTool("run", poll))
    assert (await agent.prompt("hi")).reason is RunReason.COMPLETED


@pytest.mark.parametrize(
    ("reply", "nudge", "end"),
    [
        pytest.param(
            AssistantMessage((), StopReason.END_TURN, MODEL),
            NUDGE_EMPTY,
            RunEnd(RunReason.COMPLETED),
            id="empty",
        ),
        pytest.param(
            AssistantMessage((), StopReason.TOOL_USE, MODEL),
            NUDGE_EMPTY,
            RunEnd(RunReason.COMPLETED),
            id="tool use without a call",
        ),
        pytest.param(
            says("half", StopReason.MAX_TOKENS),
            NUDGE_CUT,
            RunEnd(RunReason.LENGTH, "half", "the reply was cut off at the length limit"),
            id="cut off",
        ),
    ],
)
async def test_an_empty_or_cut_reply_gets_one_nudge(
    reply: AssistantMessage, nudge: str, end: RunEnd
) -> None:
    model = ScriptedModel(reply, reply, says("too late"))
    agent, _ = agent_with(model)
    assert await agent.prompt("hi") == end
    assert len(model.requests) == 2
    assert UserMessage(nudge) in agent.messages


async def test_a_paused_reply_is_sent_back_unchanged_with_nothing_behind_it() -> None:
    model = ScriptedModel(says("searching", StopReason.PAUSE_TURN), says("found"))
    agent, _ = agent_with(model)
    agent.follow_up(user("later"))
    assert (await agent.prompt("hi")).reason is RunReason.COMPLETED
    last = model.requests[1][-1]
    assert last == {"role": "assistant", "content": [{"type": "text", "text": "searching"}]}


async def test_a_reply_that_pauses_for_ever_is_an_error() -> None:
    pauses = [says("…", StopReason.PAUSE_TURN)] * 4
    agent, _ = agent_with(ScriptedModel(*pauses), limits=Limits(pauses=2))
    end = await agent.prompt("hi")
    assert (end.reason, end.error) == (RunReason.ERROR, "the model paused 3 times in a row")


async def test_the_last_result_of_a_batch_may_ask_for_the_end_and_be_noticed() -> None:
    stop = ToolResult("asked", terminate=True)
    agent, _ = agent_with(ScriptedModel(calls(call("ask"))), FakeTool("ask", gives(stop)))
    assert (await agent.prompt("hi")).reason is RunReason.BLOCKED
