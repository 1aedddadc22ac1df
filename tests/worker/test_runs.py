"""The agent behind orders, with a model that follows a script."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from shared.task import Usage
from tests.fakes.model import ScriptedModel
from tests.support.agent_bench import agent_with
from worker import effects
from worker.runs import Runs


async def test_what_was_steered_too_late_goes_before_the_next_prompt() -> None:
    model = ScriptedModel()
    agent, _ = agent_with(model)
    heard: asyncio.Queue[effects.Input] = asyncio.Queue()
    async with asyncio.TaskGroup() as group:

        def start(run: Coroutine[Any, Any, None]) -> None:
            group.create_task(run)

        runs = Runs(agent, Usage(), start, heard.put_nowait, lambda _: None)
        runs.steer("delete it", "a1")
        runs.steer("at once", "a2")
        runs.prompt("no, keep it", "a3")
    assert model.user_texts(0) == ["delete it", "at once", "no, keep it"]
    happened = [heard.get_nowait() for _ in range(heard.qsize())]
    entered = [h.reference for h in happened if isinstance(h, effects.Entered)]
    assert entered == ["a1", "a2", "a3"]
