"""The tool calls of one reply: checked, allowed, run, and answered without exception.

Whatever happens to a call (unknown, malformed, refused, failed, aborted), it gets a result, because
the API refuses a conversation in which one is missing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, assert_never

from worker.agent.abort import Abort, Aborted
from worker.agent.events import ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from worker.agent.messages import ToolResultMessage
from worker.agent.schema import Invalid, check_arguments
from worker.tools import ToolContext, ToolResult

if TYPE_CHECKING:
    from worker.agent.events import AgentEvent
    from worker.agent.messages import ToolCall
    from worker.tools import Tool

RECEIVED_CHARS = 2_000
"""How much of unusable arguments is quoted back to the model."""

ABORTED_TEXT = "Aborted: the run was stopped by a person before this call finished."


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may run, with these arguments; they are not checked again."""

    args: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Deny:
    """The call may not run; the model reads the reason."""

    reason: str
    terminate: bool = False


BeforeTool = Callable[["ToolCall", Mapping[str, object]], Awaitable[Allow | Deny]]
"""Asked after the arguments are checked. A raise blocks this one call."""

AfterTool = Callable[["ToolCall", ToolResult], Awaitable[ToolResult]]
"""Gives the result that is kept instead. A raise becomes an error result of this one call."""


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """The tools of a run and what stands before and after them."""

    tools: Mapping[str, Tool] = field(default_factory=dict)
    before_tool: BeforeTool | None = None
    after_tool: AfterTool | None = None
    abort_grace_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class _Update:
    call: ToolCall
    text: str


@dataclass(frozen=True, slots=True)
class _Finished:
    call: ToolCall
    result: ToolResult
    duration_seconds: float | None


@dataclass(frozen=True, slots=True)
class _Ready:
    call: ToolCall
    tool: Tool
    args: Mapping[str, object]


Emit = Callable[["AgentEvent"], Awaitable[None]]


def result_message(call: ToolCall, result: ToolResult) -> ToolResultMessage:
    return ToolResultMessage(call.id, call.name, result.text, result.is_error, result.details)


async def run_calls(
    calls: Sequence[ToolCall], policy: ToolPolicy, abort: Abort, emit: Emit
) -> list[ToolResult]:
    """The results in the order of the calls; never raises for anything that a call does."""
    if any(_is_sequential(call, policy) for call in calls):
        results: list[ToolResult] = []
        for call in calls:
            results += await _run_together([call], policy, abort, emit)
        return results
    return await _run_together(calls, policy, abort, emit)


async def refuse_calls(calls: Sequence[ToolCall], reason: str, emit: Emit) -> list[ToolResult]:
    """Answer every call with an error; none runs."""
    results = []
    for call in calls:
        await emit(ToolExecutionStart(call.id, call.name, call.input))
        text = reason if call.malformed is None else f"{reason}\n{_malformed_text(call)}"
        results.append(ToolResult(text, is_error=True))
        await _emit_finished(_Finished(call, results[-1], None), emit)
    return results


def _is_sequential(call: ToolCall, policy: ToolPolicy) -> bool:
    tool = policy.tools.get(call.name)
    return tool is not None and tool.spec.sequential


async def _run_together(
    calls: Sequence[ToolCall], policy: ToolPolicy, abort: Abort, emit: Emit
) -> list[ToolResult]:
    results: dict[int, ToolResult] = {}
    ready: dict[int, _Ready] = {}
    for index, call in enumerate(calls):
        await emit(ToolExecutionStart(call.id, call.name, call.input))
        checked = await _preflight(call, policy, abort)
        if isinstance(checked, ToolResult):
            results[index] = checked
            await _emit_finished(_Finished(call, checked, None), emit)
        else:
            ready[index] = checked
    # Tools report into one queue, so that listeners hear one event at a time, in order.
    outbox: asyncio.Queue[tuple[int, _Update | _Finished]] = asyncio.Queue()
    async with asyncio.TaskGroup() as group:
        for index, item in ready.items():
            group.create_task(_execute(index, item, policy, abort, outbox))
        while len(results) < len(calls):
            index, report = await outbox.get()
            match report:
                case _Update():
                    await _emit_update(report, emit)
                case _Finished():
                    results[index] = report.result
                    await _emit_finished(report, emit)
                case _:
                    assert_never(report)
    return [results[index] for index in range(len(calls))]


async def _preflight(call: ToolCall, policy: ToolPolicy, abort: Abort) -> _Ready | ToolResult:
    if abort.requested:
        return ToolResult(ABORTED_TEXT, is_error=True)
    tool = policy.tools.get(call.name)
    if tool is None:
        known = ", ".join(policy.tools) or "none"
        return ToolResult(f"There is no tool {call.name!r}. Tools: {known}.", is_error=True)
    if call.malformed is not None:
        return ToolResult(_malformed_text(call), is_error=True)
    checked = check_arguments(tool.spec.input_schema, call.input)
    if isinstance(checked, Invalid):
        return ToolResult(_invalid_text(call, checked), is_error=True)
    return await _permission(_Ready(call, tool, checked.args), policy, abort)


async def _permission(ready: _Ready, policy: ToolPolicy, abort: Abort) -> _Ready | ToolResult:
    if policy.before_tool is None:
        return ready
    try:
        async with abort.interruptible():
            decision = await policy.before_tool(ready.call, ready.args)
    except Aborted:
        return ToolResult(ABORTED_TEXT, is_error=True)
    except Exception as error:
        text = f"The check before this call failed, so it did not run: {_describe(error)}"
        return ToolResult(text, is_error=True)
    if isinstance(decision, Deny):
        return ToolResult(decision.reason, is_error=True, terminate=decision.terminate)
    return _Ready(ready.call, ready.tool, decision.args)


async def _execute(
    index: int,
    ready: _Ready,
    policy: ToolPolicy,
    abort: Abort,
    outbox: asyncio.Queue[tuple[int, _Update | _Finished]],
) -> None:
    settled = False

    def on_update(text: str) -> None:
        if not settled:
            outbox.put_nowait((index, _Update(ready.call, text)))

    started = monotonic()
    context = ToolContext(ready.call.id, abort.event, on_update)
    result = await _run_tool(ready, context, policy.abort_grace_seconds, abort)
    settled = True
    result = await _reviewed(ready.call, result, policy.after_tool)
    outbox.put_nowait((index, _Finished(ready.call, result, monotonic() - started)))


async def _run_tool(
    ready: _Ready, context: ToolContext, grace_seconds: float, abort: Abort
) -> ToolResult:
    # The one place where the cancellation of a running call becomes a result.
    try:
        async with abort.interruptible(grace_seconds):
            return await ready.tool.run(ready.args, context)
    except Aborted:
        return ToolResult(ABORTED_TEXT, is_error=True)
    except Exception as error:
        return ToolResult(_describe(error), is_error=True)


async def _reviewed(call: ToolCall, result: ToolResult, after: AfterTool | None) -> ToolResult:
    if after is None:
        return result
    try:
        return await after(call, result)
    except Exception as error:
        text = f"The call ran, but its result could not be processed: {_describe(error)}"
        return ToolResult(text, is_error=True)


async def _emit_update(update: _Update, emit: Emit) -> None:
    await emit(ToolExecutionUpdate(update.call.id, update.call.name, update.text))


async def _emit_finished(finished: _Finished, emit: Emit) -> None:
    call = finished.call
    message = result_message(call, finished.result)
    await emit(ToolExecutionEnd(call.id, call.name, message, finished.duration_seconds))


def _describe(error: Exception) -> str:
    return str(error) or type(error).__name__


def _malformed_text(call: ToolCall) -> str:
    return (
        f"The arguments for {call.name!r} are not a JSON object. Send the whole call again.\n"
        f"Received: {(call.malformed or '')[:RECEIVED_CHARS]}"
    )


def _invalid_text(call: ToolCall, invalid: Invalid) -> str:
    received = json.dumps(call.input, ensure_ascii=False, default=str)[:RECEIVED_CHARS]
    problems = "\n".join(f"- {problem}" for problem in invalid.problems)
    return f"The arguments for {call.name!r} do not fit:\n{problems}\nReceived: {received}"
