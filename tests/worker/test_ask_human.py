from __future__ import annotations

import asyncio

import pytest

from worker.agent.messages import ToolResultMessage
from worker.ask_human import AskHuman, asks
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


ASKED = ToolResultMessage("1", "ask_human", "asked", details={"question": "Which?"})
RAN = ToolResultMessage("2", "bash", "ok", details={"exit_code": 0})
FAILED = ToolResultMessage("3", "ask_human", "no question", is_error=True)


@pytest.mark.parametrize(
    ("results", "ends"),
    [([ASKED], True), ([RAN, ASKED], True), ([RAN], False), ([FAILED, RAN], False)],
)
def test_a_question_beside_another_call_is_put_as_well(
    results: list[ToolResultMessage], ends: bool
) -> None:
    assert asks(results) == ends
