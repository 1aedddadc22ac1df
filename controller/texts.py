"""Words that people read (design 16). Pure."""

from __future__ import annotations

from collections.abc import Iterable

from controller.lifecycle import WORDS
from shared.task import Status, Task, Why, parse_reason

_BREAK = "\u200b"
_BOLD = "\x02"
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))

WHY_WORDS: dict[Why, str] = {
    Why.QUESTION: "it waits for an answer",
    Why.PERMISSION: "it waits for a permission",
    Why.STOPPED: "stopped",
    Why.BUDGET: "its budget is used up",
    Why.TURNS: "its turns are used up",
    Why.DEADLINE: "its working time is used up",
    Why.LOOP: "it makes no progress",
    Why.TOOL_TIME: "a tool took too long",
    Why.KILLED: "its worker was ended",
    Why.VANISHED: "its worker is lost",
    Why.FAILED: "its worker failed",
}

BOUNDS = frozenset({Why.BUDGET, Why.TURNS, Why.DEADLINE, Why.LOOP, Why.TOOL_TIME})
"""Reasons that a person's line answers with one more allowance."""


def unping(nick: str) -> str:
    """A nick that highlights nobody: a zero-width space after its first character."""
    return nick[:1] + _BREAK + nick[1:]


def unpinged(nicks: Iterable[str]) -> str:
    return ", ".join(unping(nick) for nick in nicks)


def bold(text: str) -> str:
    return f"{_BOLD}{text}{_BOLD}"


def age(seconds: float) -> str:
    """`42 s`, `5 min`, `3 h`, `2 d`: one unit, rounded down."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "0 s"


def state(task: Task) -> str:
    """The state in words; of a blocked task with its reason."""
    if task.status is not Status.BLOCKED or not task.reason:
        return WORDS[task.status]
    reason = parse_reason(task.reason)
    if reason is None:
        return f"blocked ({task.reason})"
    detail = f": {reason.detail}" if reason.detail else ""
    return f"blocked ({WHY_WORDS[reason.why]}{detail})"


def next_step(task: Task) -> str:
    """What the requester can do about a blocked task."""
    reason = parse_reason(task.reason or "")
    if reason is not None and reason.why in (Why.KILLED, Why.VANISHED, Why.FAILED):
        return "!reopen starts it again"
    if reason is not None and reason.why in BOUNDS:
        return "a line in plain text grants one more allowance"
    if reason is not None and reason.why is Why.PERMISSION:
        return "!kill ends it"
    if reason is not None and reason.why is Why.STOPPED:
        return "a line in plain text or !reopen goes on"
    return "answer here in plain text"
