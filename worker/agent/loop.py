"""The loop: ask the model, run what it asks for, let people in, until there is nothing left to do.

Plain functions over a Run; what decides for others (permission, redaction, limits, queues) comes
in with it. Whatever happens, events stay well nested and every call gets its result.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from worker.agent.abort import Abort, Aborted
from worker.agent.ending import failed_end, natural_end, nudge, over_limit, stuck_end
from worker.agent.events import (
    AgentEnd,
    AgentEvent,
    AgentStart,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ReplyDone,
    RunEnd,
    RunReason,
    TurnEnd,
    TurnStart,
)
from worker.agent.limits import Limits, RepeatCounter, repeat_notice
from worker.agent.messages import (
    UNSENT,
    AssistantMessage,
    Message,
    StopReason,
    ToolResultMessage,
    UserMessage,
)
from worker.agent.partial import PartialReply
from worker.agent.request import ModelRequest
from worker.agent.toolcalls import ToolPolicy, refuse_calls, result_message, run_calls

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from worker.agent.events import ModelEvent
    from worker.agent.model import Model
    from worker.agent.queue import PendingQueue
    from worker.tools import ToolResult

log = logging.getLogger(__name__)

CUT_OFF = (
    "This call did not run: the reply was cut off, so its arguments may be incomplete. "
    "Send the whole call again, in smaller pieces if it is long."
)
NOT_ASKED = "This call did not run: the reply did not stop in order to use tools. Send it again."
CUT_REASONS = frozenset({StopReason.MAX_TOKENS, StopReason.CONTEXT_FULL, StopReason.BROKEN})


Role = Literal["user", "assistant", "tool"]

EndsRun = Callable[[Sequence[ToolResultMessage]], bool]
"""Asked after each turn with calls: True ends the run there, whatever else waits. A question to a
person does, so that it is put even if other calls stand beside it or somebody speaks meanwhile."""


def nothing_ends(_results: Sequence[ToolResultMessage]) -> bool:
    """The loop's own rule alone: a run ends when every result of a turn asks for it."""
    return False


@dataclass(frozen=True, slots=True)
class LoopConfig:
    """What stays the same over all runs of an agent."""

    system: str
    model: Model
    policy: ToolPolicy
    limits: Limits
    spent_usd: Callable[[], float | None]
    """What the whole conversation has cost; None: unknown."""
    ends_run: EndsRun = nothing_ends


@dataclass(slots=True)
class Run:
    """One prompt() or continue_(), from AgentStart to AgentEnd."""

    config: LoopConfig
    messages: list[Message]
    """The whole conversation; the run appends to it and changes nothing."""
    steering: PendingQueue
    follow_ups: PendingQueue
    abort: Abort
    listener: Callable[[AgentEvent], Awaitable[None]]
    """Must not raise."""
    turn: int = 0
    turn_open: bool = False
    pauses: int = 0
    nudged: bool = False
    repeats: RepeatCounter = field(default_factory=RepeatCounter)

    async def emit(self, event: AgentEvent) -> None:
        match event:
            case TurnStart():
                self.turn_open = True
            case TurnEnd():
                self.turn_open = False
            case _:
                pass
        await self.listener(event)


@dataclass(frozen=True, slots=True)
class _Turn:
    reply: AssistantMessage
    messages: tuple[ToolResultMessage, ...]
    terminate: bool


async def run_agent(run: Run, prompts: Sequence[UserMessage]) -> RunEnd:
    """Work until nothing is left to do; everything that goes wrong is in the RunEnd."""
    before = len(run.messages)
    await run.emit(AgentStart())
    try:
        end = await _work(run, prompts)
    except Exception as error:
        log.exception("the agent loop failed")
        end = await _close_failed(run, error)
    finally:
        run.steering.release()
        run.follow_ups.release()
    await run.emit(AgentEnd(tuple(run.messages[before:]), end))
    return end


async def _work(run: Run, prompts: Sequence[UserMessage]) -> RunEnd:
    config = run.config
    run.steering.reserve()
    while True:
        over = over_limit(config.limits, run.turn, config.spent_usd())
        if over is not None and run.turn:
            return over
        turn = await _turn(run, prompts, over)
        end = over or _end_now(run, turn)
        if end is not None:
            return end
        prompts = ()
        if turn.reply.stop_reason is StopReason.PAUSE_TURN:
            continue  # the reply goes back unchanged, so nothing may come in behind it
        run.steering.reserve()
        if turn.messages and not turn.terminate:
            continue
        if run.steering.reserved or run.follow_ups.reserve():
            continue
        prompts = () if turn.messages else nudge(turn.reply, nudged=run.nudged)
        if not prompts:
            return natural_end(turn.reply, turn.messages)
        run.nudged = True


def _end_now(run: Run, turn: _Turn) -> RunEnd | None:
    paused = turn.reply.stop_reason is StopReason.PAUSE_TURN
    run.pauses = run.pauses + 1 if paused else 0
    if (end := failed_end(turn.reply)) is not None:
        return end
    if run.abort.requested:
        return RunEnd(RunReason.ABORTED, turn.reply.text)
    if turn.messages and run.config.ends_run(turn.messages):
        return natural_end(turn.reply, turn.messages)
    return stuck_end(run.config.limits, turn.reply, run.repeats.last_count, run.pauses)


async def _turn(run: Run, prompts: Sequence[UserMessage], over: RunEnd | None) -> _Turn:
    run.turn += 1
    await run.emit(TurnStart(run.turn))
    for prompt in prompts:
        await _add(run, "user", prompt)
    if over is None:
        await _inject(run, run.steering)
        await _inject(run, run.follow_ups)
        reply = await _reply(run)
    else:
        # What a person said is kept even where nothing may be spent on an answer.
        reply = PartialReply(run.config.model.name).failed(over.error)
        await _add(run, "assistant", reply)
    results = await _answer_calls(run, reply)
    messages = tuple(map(result_message, reply.tool_calls, results))
    for message in messages:
        await _add(run, "tool", message)
    await run.emit(TurnEnd(reply, messages))
    return _Turn(reply, messages, all(result.terminate for result in results))


async def _inject(run: Run, queue: PendingQueue) -> None:
    """What an abort keeps out stays reserved, and goes back to the front at the end of the run."""
    while queue.reserved and not run.abort.requested:
        message = queue.reserved[0]
        await run.emit(MessageStart("user"))
        queue.commit()
        run.messages.append(message)
        await run.emit(MessageEnd(message))


async def _add(run: Run, role: Role, message: Message) -> None:
    await run.emit(MessageStart(role))
    run.messages.append(message)
    await run.emit(MessageEnd(message))


async def _reply(run: Run) -> AssistantMessage:
    partial = PartialReply(run.config.model.name)
    specs = tuple(tool.spec for tool in run.config.policy.tools.values())
    request = ModelRequest(run.config.system, specs, tuple(run.messages))
    await run.emit(MessageStart("assistant"))
    async with aclosing(_events(run, request, partial)) as events:
        async for event in events:
            if isinstance(event, ReplyDone):
                run.messages.append(event.message)
                await run.emit(MessageEnd(event.message))
                return event.message
            partial.add(event)
            await run.emit(MessageUpdate(event))
    raise AssertionError("a stream of events ends with ReplyDone")


async def _events(
    run: Run, request: ModelRequest, partial: PartialReply
) -> AsyncGenerator[ModelEvent, None]:
    """The model's stream, with an abort and whatever it raises made into its last event."""
    try:
        async with aclosing(run.config.model.stream(request)) as stream:
            while True:
                async with run.abort.interruptible():
                    event = await anext(stream, None)
                if event is None:
                    raise EOFError("the model's stream ended without a reply")
                yield event
                if isinstance(event, ReplyDone):
                    return
    except Aborted:
        yield ReplyDone(partial.aborted())
    except Exception as error:
        yield ReplyDone(partial.failed(str(error) or type(error).__name__))


async def _answer_calls(run: Run, reply: AssistantMessage) -> list[ToolResult]:
    calls = reply.tool_calls
    if not calls or reply.stop_reason in UNSENT:
        return []
    if reply.stop_reason is not StopReason.TOOL_USE:
        reason = CUT_OFF if reply.stop_reason in CUT_REASONS else NOT_ASKED
        results = await refuse_calls(calls, reason, run.emit)
    else:
        results = await run_calls(calls, run.config.policy, run.abort, run.emit)
    run.nudged = False
    return _with_notice(run, reply, results)


def _with_notice(run: Run, reply: AssistantMessage, results: list[ToolResult]) -> list[ToolResult]:
    count = run.repeats.count(reply.tool_calls, results)
    if count < run.config.limits.equal_batches_notice:
        return results
    last = replace(results[-1], text=f"{results[-1].text}\n\n{repeat_notice(count)}")
    return [*results[:-1], last]


async def _close_failed(run: Run, error: Exception) -> RunEnd:
    if not run.turn_open:
        await run.emit(TurnStart(run.turn + 1))
    reply = PartialReply(run.config.model.name).failed(f"internal error: {error!r}")
    await _add(run, "assistant", reply)
    await run.emit(TurnEnd(reply, ()))
    return RunEnd(RunReason.ERROR, error=reply.error)
