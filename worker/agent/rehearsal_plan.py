"""The plan of a rehearsal: which steps people asked for, and how far the conversation got.

A pure function of the messages, so that a rehearsal that was killed goes on where it was.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from worker.agent.messages import UNSENT, AssistantMessage, ToolResultMessage, UserMessage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from worker.agent.messages import Message

SAY = "say"
ASK = "ask_human"
RESULT_FILE = "REHEARSAL.md"
STEP_SEPARATOR = ";;"

_LIST_MARK = re.compile(r"^\s*(?:[-*•]|\d+[.)])?\s+|^\s+")
_GRAMMAR: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"write (?P<path>\S+): ?(?P<content>.*)"), "write"),
    (re.compile(r"read (?P<path>\S+)"), "read"),
    (re.compile(r"edit (?P<path>\S+): (?P<old>.+?) => (?P<new>.*)"), "edit"),
    (re.compile(r"run (?P<command>.+)"), "bash"),
    (re.compile(r"ask (?P<question>.+)"), ASK),
    (re.compile(r"say (?P<text>.+)"), SAY),
)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do."""

    line: str
    """As a person would write it."""
    tool: str
    """Name of the tool, or SAY."""
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a step went."""

    is_error: bool
    text: str


@dataclass(slots=True)
class Progress:
    """How far the conversation got."""

    steps: list[Step] = field(default_factory=list)
    position: int = 0
    """Index of the next step."""
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    answers: dict[int, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """Lines of people that are no steps."""
    unheard: list[str] = field(default_factory=list)
    """What came in after the last reply and deserves a word."""
    calls: int = 0
    """Calls made so far; the next call's id is made of it."""
    description: str | None = None
    """Set where nothing in the task was a step, so that a plan had to be made up."""
    asking: int | None = None
    """Index of the question that waits for its answer."""

    @property
    def answer(self) -> str:
        return list(self.answers.values())[-1] if self.answers else "(no answer)"


def parse_steps(text: str) -> list[Step]:
    """The lines of the text, or its parts between ` ;; `, that are steps; others are left out."""
    lines = re.split(rf"\n|\s{STEP_SEPARATOR}\s", text)
    return [step for line in lines if (step := _parse_step(line)) is not None]


def call_id(number: int, step: int) -> str:
    return f"rehearsal-{number}-step-{step}"


def progress_of(messages: Iterable[Message], fence: str) -> Progress:
    """Fold the conversation; lines between two that hold the fence are other people's."""
    progress = Progress()
    for message in messages:
        match message:
            case UserMessage():
                _hear(progress, _outside_fence(message.text, fence), message.reference)
            case AssistantMessage() if message.stop_reason not in UNSENT:
                _account_reply(progress, message)
            case ToolResultMessage():
                _account_result(progress, message)
            case _:
                pass
    return progress


def _parse_step(line: str) -> Step | None:
    line = _LIST_MARK.sub("", line.rstrip())
    for pattern, tool in _GRAMMAR:
        if (found := pattern.fullmatch(line)) is not None:
            return Step(line, tool, found.groupdict())
    return None


def _outside_fence(text: str, fence: str) -> str:
    if not fence:
        return text
    return "\n".join(part for part in re.split(re.escape(fence), text)[::2])


def _hear(progress: Progress, text: str, reference: str) -> None:
    if progress.steps and not reference:
        _start_again(progress)
        return
    if progress.asking is not None:
        answer = text.strip().rpartition("\n")[2]
        progress.answers[progress.asking] = answer
        progress.unheard.append(f"the answer is {answer}")
        progress.asking = None
        return
    steps = parse_steps(text)
    if not progress.steps:
        progress.description = None if steps else text.strip()
        progress.steps += steps or _made_up_plan(text.strip())
        return
    progress.steps += steps
    heard = [step.line for step in steps] or [text.strip()]
    progress.unheard += heard
    if not steps:
        progress.notes.append(text.strip())
        if progress.description is not None:
            progress.steps.append(
                _result_file("\n\n".join([progress.description, *progress.notes]))
            )


def _start_again(progress: Progress) -> None:
    """Nobody in particular said this: the worker is back, so an open question is asked again."""
    if progress.asking is not None:
        progress.position = progress.asking
        progress.asking = None


def _made_up_plan(description: str) -> list[Step]:
    return [_result_file(description), Step(f"read {RESULT_FILE}", "read", {"path": RESULT_FILE})]


def _result_file(content: str) -> Step:
    content = f"# Rehearsal\n\nNo model was asked. The task said:\n\n{content}"
    return Step(f"write {RESULT_FILE}", "write", {"path": RESULT_FILE, "content": content})


def _account_reply(progress: Progress, reply: AssistantMessage) -> None:
    progress.unheard.clear()
    progress.calls += len(reply.tool_calls)
    if not reply.tool_calls:
        progress.position = len(progress.steps)
    for call in reply.tool_calls:
        progress.position = max(progress.position, _step_of(call.id) or 0)


def _account_result(progress: Progress, result: ToolResultMessage) -> None:
    index = _step_of(result.call_id)
    if index is None or index >= len(progress.steps):
        return
    progress.position = index + 1
    progress.outcomes[index] = Outcome(result.is_error, result.text)
    if progress.steps[index].tool == ASK and not result.is_error:
        progress.asking = index


def _step_of(identifier: str) -> int | None:
    found = re.fullmatch(r"rehearsal-\d+-step-(\d+)", identifier)
    return int(found[1]) if found else None


def with_answer(step: Step, answer: str) -> Step:
    """The step with {answer} filled in."""
    values = {key: value.replace("{answer}", answer) for key, value in step.values.items()}
    return replace(step, line=step.line.replace("{answer}", answer), values=values)
