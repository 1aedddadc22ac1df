"""The tool with which the model asks a person: it ends the turn, and the room gets the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from worker.agent.messages import ToolResultMessage
from worker.tools import ToolContext, ToolError, ToolResult, ToolSpec

NAME = "ask_human"
QUESTION = "question"

_SPEC = ToolSpec(
    name=NAME,
    description=(
        "Ask the people of the task one clear question and wait for the answer, which comes as "
        "the next user message. Use it when you cannot go on without a decision or a fact that "
        "only they have. Call it alone."
    ),
    input_schema={
        "type": "object",
        "properties": {
            QUESTION: {
                "type": "string",
                "description": "The question; its first line must be understandable alone.",
            }
        },
        "required": [QUESTION],
        "additionalProperties": False,
    },
    sequential=True,
)


def questions(results: Sequence[ToolResultMessage]) -> list[str]:
    """What was asked in a turn."""
    found = (result.details for result in results if result.tool_name == NAME and result.details)
    return [str(details[QUESTION]) for details in found if QUESTION in details]


def asks(results: Sequence[ToolResultMessage]) -> bool:
    """A question was put, so the run ends: also if other calls stood beside it."""
    return bool(questions(results))


class AskHuman:
    """Refuses only an empty question; everything else is up to the people in the room."""

    @property
    def spec(self) -> ToolSpec:
        return _SPEC

    async def run(self, args: Mapping[str, object], context: ToolContext) -> ToolResult:
        question = args.get(QUESTION)
        if not isinstance(question, str) or not question.strip():
            raise ToolError("ask_human needs `question`, a text that is not empty")
        return ToolResult(
            "The question is asked. The answer comes as the next message.",
            terminate=True,
            details={QUESTION: question.strip()},
        )
