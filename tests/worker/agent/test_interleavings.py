"""Whatever people do while the agent works: each message once or still queued, each request legal,
events well nested."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.model import ScriptedModel, call, calls, says
from tests.support.agent_bench import FakeTool, agent_with, check_nesting, user
from worker.agent.agent import Agent
from worker.agent.events import AgentEvent
from worker.agent.limits import Limits
from worker.agent.messages import AssistantMessage, StopReason, UserMessage
from worker.agent.queue import QueueMode
from worker.tools import ToolContext, ToolResult

ACTIONS = st.sampled_from(["steer", "follow_up", "abort", "nothing", "nothing"])
REPLIES = st.sampled_from(["text", "one call", "two calls", "cut", "fails", "ends the turn"])
MODES = st.sampled_from(QueueMode)


class People:
    """Does the next action each time that it is asked to, at whatever place that is."""

    def __init__(self, actions: Sequence[str]) -> None:
        self._actions = list(actions)
        self.said: list[UserMessage] = []

    def act(self, agent: Agent) -> None:
        action = self._actions.pop(0) if self._actions else "nothing"
        message = user(f"message {len(self.said)}")
        match action:
            case "steer":
                self.said.append(message)
                agent.steer(message)
            case "follow_up":
                self.said.append(message)
                agent.follow_up(message)
            case "abort":
                agent.abort()
            case _:
                pass


def reply_of(kind: str, number: int) -> AssistantMessage | Exception:
    match kind:
        case "one call":
            return calls(call("run", number, n=number))
        case "two calls":
            return calls(call("run", number, n=number), call("run", number + 1))
        case "cut":
            content = (call("run", number),)
            return AssistantMessage(content, StopReason.MAX_TOKENS, "scripted")
        case "fails":
            return RuntimeError("down")
        case "ends the turn":
            return calls(call("ask", number))
        case _:
            return says(f"text {number}")


@settings(deadline=None, max_examples=150)
@given(st.lists(ACTIONS, max_size=60), st.lists(REPLIES, max_size=8), MODES, MODES)
def test_messages_are_delivered_once_or_still_queued(
    actions: list[str], replies: list[str], steering: QueueMode, follow_up: QueueMode
) -> None:
    asyncio.run(story(People(actions), replies, steering, follow_up))


async def story(
    people: People, replies: Sequence[str], steering: QueueMode, follow_up: QueueMode
) -> None:
    agents: list[Agent] = []

    async def body(_args: Mapping[str, object], _context: ToolContext) -> ToolResult:
        await asyncio.sleep(0)
        people.act(agents[0])
        return ToolResult("ok")

    async def ask(_args: Mapping[str, object], _context: ToolContext) -> ToolResult:
        return ToolResult("asked", terminate=True)

    async def act(_event: AgentEvent) -> None:
        people.act(agents[0])

    script = [reply_of(kind, 10 * number) for number, kind in enumerate(replies)]
    agent, events = agent_with(
        ScriptedModel(*script),
        FakeTool("run", body),
        FakeTool("ask", ask),
        steering_mode=steering,
        follow_up_mode=follow_up,
        limits=Limits(turns=20, abort_grace_seconds=0.01),
    )
    agents.append(agent)
    agent.subscribe(act)
    for number in range(3):
        await agent.prompt(user(f"prompt {number}"))
    check_nesting(events)
    entered = [m for m in agent.messages if isinstance(m, UserMessage) and m in people.said]
    assert Counter(entered) + Counter(agent.pending) == Counter(people.said)


@pytest.mark.parametrize("mode", QueueMode)
async def test_what_is_said_during_a_run_that_ends_well_is_all_delivered(mode: QueueMode) -> None:
    people = People(["steer", "follow_up"] * 3)
    agents: list[Agent] = []

    async def act(_event: AgentEvent) -> None:
        people.act(agents[0])

    agent, _ = agent_with(ScriptedModel(), steering_mode=mode, follow_up_mode=mode)
    agents.append(agent)
    agent.subscribe(act)
    await agent.prompt("hi")
    assert agent.pending == ()
    assert len([m for m in agent.messages if m in people.said]) == 6
