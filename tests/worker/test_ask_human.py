from __future__ import annotations

import asyncio

import pytest

from worker.ask_human import AskHuman
from worker.tools import ToolContext, ToolError, ToolResult

CONTEXT = ToolContext("1", asyncio.Event(), lambda text: None)


async def test_a_question_ends_the_turn() -> None:
    assert await AskHuman().run({"question": " Which? "}, CONTEXT) == ToolResult(
        "The question is asked. The answer comes as the next message.",
        terminate=True,
        details={"question": "Which?"},
    )


@pytest.mark.parametrize("args", [{}, {"question": "  "}, {"question": 3}])
async def test_an_empty_question_is_no_question(args: dict[str, object]) -> None:
    with pytest.raises(ToolError, match="question"):
        await AskHuman().run(args, CONTEXT)
