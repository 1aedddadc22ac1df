"""What tests of the agent share: tools that are told what to do, and a recorder of events."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from worker.agent.agent import Agent, AgentConfig
from worker.agent.events import (
    AgentEvent,
    MessageEnd,
    MessageStart,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from worker.agent.messages import UserMessage
from worker.agent.model import Model
from worker.tools import ToolContext, ToolResult, ToolSpec

ANY: Mapping[str, object] = {"type": "object", "properties": {}}

Body = Callable[[Mapping[str, object], ToolContext], Awaitable[ToolResult]]


@dataclass
class FakeTool:
    """A tool whose body is given by the test; without one it says "ok"."""

    name: str
    body: Body | None = None
    schema: Mapping[str, object] = field(default_factory=lambda: ANY)
    sequential: bool = False
    seen: list[Mapping[str, object]] = field(default_factory=list)
    """Arguments of the calls that ran."""

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, f"Tool {self.name}.", self.schema, self.sequential)

    async def run(self, args: Mapping[str, object], context: ToolContext) -> ToolResult:
        self.seen.append(args)
        return await self.body(args, context) if self.body else ToolResult("ok")


def gives(result: ToolResult) -> Body:
    async def body(_args: Mapping[str, object], _context: ToolContext) -> ToolResult:
        return result

    return body


class Gate:
    """A place in a tool, model or hook where the test can wait, and hold it."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def wait(self) -> None:
        self.reached.set()
        await self.opened.wait()


def agent_with(model: Model, *tools: FakeTool, **config: Any) -> tuple[Agent, list[AgentEvent]]:
    """An agent and the list that its events go to."""
    agent = Agent(AgentConfig("You are a test.", model, tools, **config))
    events: list[AgentEvent] = []

    async def record(event: AgentEvent) -> None:
        events.append(event)

    agent.subscribe(record)
    return agent, events


def user(text: str) -> UserMessage:
    return UserMessage(text)


def outline(events: list[AgentEvent]) -> list[str]:
    """Events as short words, such as `user+`, `user-`, `run:call_1+`, `TurnEnd`."""
    words = []
    for event in events:
        match event:
            case MessageStart(role):
                words.append(f"{role}+")
            case MessageEnd(message):
                name = type(message).__name__.removesuffix("Message").lower()
                words.append(f"{name.removesuffix('result')}-")
            case ToolExecutionStart():
                words.append(f"{event.name}:{event.call_id}+")
            case ToolExecutionEnd():
                words.append(f"{event.name}:{event.call_id}-")
            case _:
                words.append(type(event).__name__)
    return words


def check_nesting(events: list[AgentEvent]) -> None:
    """Every start has its end, in the order that events.py promises."""
    open_things: list[str] = []
    for word in outline(events):
        if word.endswith("+"):
            open_things.append(word[:-1])
        elif word.endswith("-"):
            open_things.remove(word[:-1])
        elif word.endswith("Start"):
            open_things.append(word.removesuffix("Start"))
        elif word.endswith("End"):
            assert open_things.pop() == word.removesuffix("End"), outline(events)
    assert open_things == [], outline(events)
