"""How a run that ended by itself looks to the room: what is said, and what is reported. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from shared.description import cut_bytes
from shared.directives import StatusReport
from shared.task import Reason, Status, Why
from worker.agent.events import RunEnd, RunReason
from worker.ask_human import questions
from worker.effects import Say
from worker.memory import SUMMARY
from worker.prompt import BLOCKED_MARK

_DETAIL_BYTES = 240
_EMPTY_SUMMARY = "The agent ended without a closing text."

_GO_ON = {
    Why.TURNS: "a line here lets me go on with as many turns again",
    Why.BUDGET: "`!budget <usd>` raises it, or a line here grants the same amount again",
    Why.DEADLINE: "a line here lets me go on for as long again",
    Why.LOOP: "tell me here what to do differently",
    Why.FAILED: "`!reopen` lets me try again",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """First the text, then the report."""

    said: tuple[str, ...]
    report: StatusReport
    why: Why | None = None
    """Of a blocked one."""


def handed_in(text: str, *, first: bool) -> Outcome:
    """The first hand-in always has a summary, the model's own or a minimal one around its text."""
    closing = text.strip()
    if first and SUMMARY not in closing:
        closing = f"{SUMMARY}\n{closing or _EMPTY_SUMMARY}"
    return Outcome((closing,) if closing else (), StatusReport(Status.FOR_REVIEW))


def asked(question: str, requester: str, before: str = "") -> Outcome:
    """The line that a person must notice begins with the name, in plain text."""
    said = (before.strip(), f"{requester}: {question.strip()}")
    return _blocked(Why.QUESTION, question, *filter(None, said))


def stuck(why: Why, detail: str, requester: str) -> Outcome:
    """Blocked by a limit or a failure, with the way on."""
    return _blocked(why, detail, f"{requester}: {detail}; {_GO_ON[why]}")


def stopped(by: str) -> Outcome:
    return _blocked(Why.STOPPED, f"by {by}", "⏹ stopped")


def spoken(text: str) -> list[Say]:
    """The last text of a run after which the work goes on at once."""
    words = text.replace(BLOCKED_MARK, "").strip()
    return [Say(words)] if words else []


def outcome_of(end: RunEnd, requester: str, *, first: bool) -> Outcome:
    """For every end but an abort: that one is somebody's will, and the session knows whose."""
    detail = _one_line(end.error) or "the run ended without a reason"
    match end.reason:
        case RunReason.COMPLETED if BLOCKED_MARK in end.text:
            before, _, question = end.text.partition(BLOCKED_MARK)
            if not question.strip():
                before, question = "", before
            return asked(question.strip() or "I cannot go on; how shall I?", requester, before)
        case RunReason.COMPLETED:
            return handed_in(end.text, first=first)
        case RunReason.BLOCKED:
            return asked(_question(end), requester)
        case RunReason.REFUSED:
            return asked(f"the model declined to go on ({detail}); please rephrase", requester)
        case RunReason.TURNS:
            return stuck(Why.TURNS, detail, requester)
        case RunReason.BUDGET:
            return stuck(Why.BUDGET, detail, requester)
        case RunReason.LOOP:
            return stuck(Why.LOOP, detail, requester)
        case _:
            return stuck(Why.FAILED, detail, requester)


def _question(end: RunEnd) -> str:
    return "\n".join(questions(end.results)) or end.text or "I cannot go on; how shall I?"


def _blocked(why: Why, detail: str, *said: str) -> Outcome:
    report = StatusReport(Status.BLOCKED, str(Reason(why, _one_line(detail))))
    return Outcome(said, report, why)


def _one_line(text: str) -> str:
    """The first line that says something, short enough for a directive."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return cut_bytes(line, _DETAIL_BYTES)
