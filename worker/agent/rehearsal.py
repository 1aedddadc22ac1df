"""A model without a model: it works through the steps that a task's description names, with the
real tools, so that the whole system can be shown without a key and without a network. It decides
nothing, and every message of it begins with "(rehearsal)".

A description holds one step per line (or several on one line, with ` ;; ` between them). A line may
begin with a list mark. The verbs are lower case; other lines are no steps:

    write PATH: TEXT          `\\n` in TEXT is a line break
    read PATH
    edit PATH: OLD => NEW
    run COMMAND
    ask QUESTION              the run waits; {answer} in later steps is the answer's last line
    say TEXT

A description without a step gives a made-up plan: REHEARSAL.md with the description is written and
read back. What people say later (messages with a reference) adds steps; what holds none is noted,
and said so. The result is handed in with a `## Summary`; what is said in review is worked through
in the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from worker.agent.events import ReplyDone, TextDelta
from worker.agent.messages import AssistantMessage, StopReason, TextBlock, ToolCall
from worker.agent.rehearsal_plan import ASK, SAY, Step, call_id, progress_of, with_answer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from worker.agent.events import ModelEvent
    from worker.agent.messages import Block
    from worker.agent.rehearsal_plan import Progress
    from worker.agent.request import ModelRequest

PREFIX = "(rehearsal) "
MAX_NARRATION_CHARS = 160


class RehearsalModel:
    """Deterministic: the same conversation always gets the same reply."""

    name = "rehearsal"

    def __init__(self, fence: str = "") -> None:
        """`fence`: the mark around text of people who may not give orders; their steps are left
        out."""
        self._fence = fence

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        reply = next_reply(progress_of(request.messages, self._fence))
        yield TextDelta(reply.text)
        yield ReplyDone(reply)


def next_reply(progress: Progress) -> AssistantMessage:
    """The next step as a tool call, or the summary when none is left."""
    said: list[Block] = [_narration(f"Noted: {line}") for line in progress.unheard]
    for index in range(progress.position, len(progress.steps)):
        step = with_answer(progress.steps[index], progress.answer)
        if step.tool == SAY:
            said.append(_narration(step.values["text"]))
            continue
        said.append(_narration(f"Step {index + 1} of {len(progress.steps)}: {step.line}"))
        said.append(ToolCall(call_id(progress.calls, index), step.tool, _arguments(step)))
        return AssistantMessage(tuple(said), StopReason.TOOL_USE, RehearsalModel.name)
    said.append(_narration("All steps are worked through. No model was asked for this."))
    said.append(TextBlock(f"\n{_summary(progress)}"))
    return AssistantMessage(tuple(said), StopReason.END_TURN, RehearsalModel.name)


def _narration(line: str) -> TextBlock:
    return TextBlock(PREFIX + _short(line))


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= MAX_NARRATION_CHARS else flat[: MAX_NARRATION_CHARS - 1] + "…"


def _arguments(step: Step) -> dict[str, object]:
    values = step.values
    match step.tool:
        case "write":
            content = values["content"].replace("\\n", "\n")
            return {"path": values["path"], "content": f"{content}\n"}
        case "edit":
            edits = [{"old": values["old"], "new": values["new"]}]
            return {"path": values["path"], "edits": edits}
        case _:
            return dict(values)


def _summary(progress: Progress) -> str:
    done = [_done_line(progress, index) for index in range(len(progress.steps))]
    answers = [
        f"- {progress.steps[index].values['question']} {answer}"
        for index, answer in progress.answers.items()
    ]
    sections = [
        ("What was done", done),
        ("Decisions", answers),
        ("Notes", [f"- {note}" for note in progress.notes]),
        ("Open questions", _open_questions(progress)),
        ("Links", []),
    ]
    lines = ["## Summary"]
    for title, items in sections:
        lines += [f"{title}:", *items] if items else [f"{title}: none"]
    return "\n".join(lines)


def _done_line(progress: Progress, index: int) -> str:
    step = with_answer(progress.steps[index], progress.answer)
    outcome = progress.outcomes.get(index)
    if outcome is not None and outcome.is_error:
        return f"- {_short(step.line)} (failed: {_short(outcome.text)})"
    return f"- {_short(step.line)}"


def _open_questions(progress: Progress) -> list[str]:
    return [
        f"- {step.values['question']}"
        for index, step in enumerate(progress.steps)
        if step.tool == ASK and index not in progress.answers
    ]
