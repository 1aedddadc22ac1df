"""The agent as the bridge sees it: orders go in, happenings come out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from shared.task import Usage
from worker import effects
from worker.agent.agent import Agent
from worker.agent.events import AgentEvent, MessageEnd, RunEnd, TurnEnd, TurnStart
from worker.agent.messages import AssistantMessage, UserMessage
from worker.effects import Say
from worker.narration import Narrator, Telemetry


class Runs:
    """Owns the agent; `start` gives each run its task."""

    def __init__(
        self,
        agent: Agent,
        before: Usage,
        start: Callable[[Coroutine[Any, Any, None]], None],
        feed: Callable[[effects.Input], None],
        tell: Callable[[Say | Telemetry], None],
    ) -> None:
        """`before`: the totals of the attempts before, which the agent may remember as well."""
        self._agent = agent
        self._before = before
        self._inherited = _usage(agent)
        self._start = start
        self._feed = feed
        self._tell = tell
        self._narrator = Narrator()
        agent.subscribe(self._hear)

    def prompt(self, text: str, reference: str) -> None:
        """What was steered too late for the last run was said before this, so it goes first."""
        earlier = self._agent.clear_pending()
        self._begin(self._agent.prompt(*earlier, UserMessage(text, reference)))

    def go_on(self) -> None:
        self._begin(self._agent.continue_())

    def steer(self, text: str, reference: str) -> None:
        self._agent.steer(UserMessage(text, reference))

    def abort(self) -> None:
        self._agent.abort()

    def _begin(self, run: Coroutine[Any, Any, RunEnd]) -> None:
        async def finish() -> None:
            self._feed(effects.RunOver(await run))

        self._start(finish())

    async def _hear(self, event: AgentEvent) -> None:
        for told in self._narrator.feed(event, _now()):
            self._tell(told)
        for happening in self._happenings(event):
            self._feed(happening)

    def _happenings(self, event: AgentEvent) -> list[effects.Input]:
        match event:
            case TurnStart():
                return [effects.TurnBegan()]
            case MessageEnd(UserMessage(_, reference)) if reference:
                return [effects.Entered(reference)]
            case TurnEnd():
                return [effects.TurnOver(self._totals())]
            case _:
                return []

    def _totals(self) -> Usage:
        now, then, before = _usage(self._agent), self._inherited, self._before
        return Usage(
            before.cost_usd + now.cost_usd - then.cost_usd,
            before.tokens_in + now.tokens_in - then.tokens_in,
            before.tokens_out + now.tokens_out - then.tokens_out,
            before.tokens_cached + now.tokens_cached - then.tokens_cached,
            before.turns + now.turns - then.turns,
        )


def _usage(agent: Agent) -> Usage:
    """`tokens_in` is all that the model read; `tokens_cached` the part that the cache gave."""
    total = agent.totals
    turns = sum(isinstance(message, AssistantMessage) for message in agent.messages)
    return Usage(
        cost_usd=total.usd or 0.0,
        tokens_in=total.usage.prompt_tokens,
        tokens_out=total.usage.output_tokens,
        tokens_cached=total.usage.cache_read_tokens,
        turns=turns,
    )


def _now() -> float:
    return asyncio.get_running_loop().time()
