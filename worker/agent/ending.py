"""When a run is over, and why: decisions over what one turn gave, nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worker.agent.events import RunEnd, RunReason
from worker.agent.messages import StopReason, UserMessage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from worker.agent.limits import Limits
    from worker.agent.messages import AssistantMessage, ToolResultMessage

NUDGE_EMPTY = "Your last reply was empty. Go on with the task, or say that you are done."
NUDGE_CUT = "Your last reply was cut off at the length limit. Go on from where it stopped."


def over_limit(limits: Limits, turns: int, spent_usd: float | None) -> RunEnd | None:
    """Asked before each turn."""
    if turns >= limits.turns:
        return RunEnd(RunReason.TURNS, error=f"the limit of {limits.turns} turns is reached")
    budget = limits.budget_usd
    if budget is not None and spent_usd is not None and spent_usd >= budget:
        text = f"the budget of ${budget:.2f} is used up (${spent_usd:.2f} spent)"
        return RunEnd(RunReason.BUDGET, error=text)
    return None


def failed_end(reply: AssistantMessage) -> RunEnd | None:
    """For a reply after which nothing may follow."""
    match reply.stop_reason:
        case StopReason.ERROR:
            return RunEnd(RunReason.ERROR, reply.text, reply.error)
        case StopReason.REFUSAL:
            return RunEnd(RunReason.REFUSED, reply.text, reply.error)
        case StopReason.ABORTED:
            return RunEnd(RunReason.ABORTED, reply.text)
        case _:
            return None


def stuck_end(limits: Limits, reply: AssistantMessage, repeats: int, pauses: int) -> RunEnd | None:
    """For a run that only goes in circles."""
    if reply.tool_calls and repeats >= limits.equal_batches_stop:
        text = f"the same calls gave the same results {repeats} times in a row"
        return RunEnd(RunReason.LOOP, reply.text, text)
    if pauses > limits.pauses:
        return RunEnd(RunReason.ERROR, reply.text, f"the model paused {pauses} times in a row")
    return None


def nudge(reply: AssistantMessage, *, nudged: bool) -> tuple[UserMessage, ...]:
    """One more try for a reply that is empty or cut off; the second such reply ends the run."""
    if nudged:
        return ()
    if reply.stop_reason is StopReason.MAX_TOKENS:
        return (UserMessage(NUDGE_CUT),)
    if not reply.text.strip():
        return (UserMessage(NUDGE_EMPTY),)
    return ()


def natural_end(reply: AssistantMessage, results: Sequence[ToolResultMessage]) -> RunEnd:
    """Nothing is left to do."""
    if results:
        return RunEnd(RunReason.BLOCKED, reply.text, results=tuple(results))
    if reply.stop_reason in (StopReason.MAX_TOKENS, StopReason.CONTEXT_FULL):
        text = "the reply was cut off at the length limit"
        return RunEnd(RunReason.LENGTH, reply.text, text)
    return RunEnd(RunReason.COMPLETED, reply.text)
