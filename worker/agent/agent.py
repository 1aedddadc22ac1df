"""The agent as its owner sees it: state, queues, abort and listeners around the loop."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from worker.agent.abort import Abort
from worker.agent.cost import PRICES, Price, Totals, totals
from worker.agent.errors import AgentBusy, NothingToContinue, TranscriptError
from worker.agent.events import AgentEnd, MessageEnd, RunEnd, RunReason, TurnEnd
from worker.agent.limits import Limits
from worker.agent.loop import EndsRun, LoopConfig, Run, nothing_ends, run_agent
from worker.agent.messages import AssistantMessage, StopReason, UserMessage
from worker.agent.queue import PendingQueue, QueueMode
from worker.agent.toolcalls import ToolPolicy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from worker.agent.events import AgentEvent
    from worker.agent.messages import Message
    from worker.agent.model import Model
    from worker.agent.toolcalls import AfterTool, BeforeTool
    from worker.agent.transcript import Transcript
    from worker.tools import Tool

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """What an agent is made of; fixed for its life."""

    system: str
    model: Model
    tools: Sequence[Tool] = ()
    transcript: Transcript | None = None
    """Kept up to date on disk; its messages are what the agent starts with. None: memory only."""
    before_tool: BeforeTool | None = None
    after_tool: AfterTool | None = None
    ends_run: EndsRun = nothing_ends
    limits: Limits = field(default_factory=Limits)
    prices: Mapping[str, Price] = field(default_factory=lambda: PRICES)
    steering_mode: QueueMode = QueueMode.ALL
    """People type one thought in several lines, so all that waits goes in together."""
    follow_up_mode: QueueMode = QueueMode.ONE


class Agent:
    """One conversation. One run at a time; all else waits in the queues."""

    def __init__(self, config: AgentConfig) -> None:
        self._config = config
        self._messages: list[Message] = list(
            config.transcript.messages if config.transcript else ()
        )
        self._steering = PendingQueue(config.steering_mode)
        self._follow_ups = PendingQueue(config.follow_up_mode)
        self._listeners: list[Callable[[AgentEvent], Awaitable[None]]] = []
        self._abort: Abort | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._storage_error = ""

    @property
    def running(self) -> bool:
        """True from prompt() until the listeners of its AgentEnd are done."""
        return not self._idle.is_set()

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(self._messages)

    @property
    def pending(self) -> tuple[UserMessage, ...]:
        """What was said and has not entered a turn: steering first, then follow-ups."""
        return (*self._steering.peek(), *self._follow_ups.peek())

    @property
    def totals(self) -> Totals:
        """What the whole conversation has used."""
        return totals(self._messages, self._config.prices)

    def subscribe(self, listener: Callable[[AgentEvent], Awaitable[None]]) -> Callable[[], None]:
        """Await the listener with every event, in the order of subscription; call the result to
        end that. A listener that raises is logged and goes on being called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def prompt(self, *messages: UserMessage | str) -> RunEnd:
        """Work on the messages until nothing is left to do. Raises AgentBusy while running."""
        return await self._run([UserMessage(m) if isinstance(m, str) else m for m in messages])

    async def continue_(self) -> RunEnd:
        """Go on without a new prompt: answer what is unanswered, or take what waits in the queues.

        Raises NothingToContinue when there is neither, AgentBusy while running.
        """
        if self.running:
            raise AgentBusy
        if not self._messages:
            raise NothingToContinue("there are no messages yet: use prompt()")
        if self._is_answered() and not self._steering and not self._follow_ups.reserve():
            raise NothingToContinue("the last message is the assistant's and no message waits")
        return await self._run([])

    def steer(self, message: UserMessage) -> None:
        """Let the message in before the next request; while idle, with the next run."""
        self._steering.put(message)

    def follow_up(self, message: UserMessage) -> None:
        """Let the message in where the run would otherwise end."""
        self._follow_ups.put(message)

    def clear_pending(self) -> tuple[UserMessage, ...]:
        """Give up on all that waits, and hand it back."""
        return (*self._steering.clear(), *self._follow_ups.clear())

    def abort(self) -> None:
        """Stop the run; what waits in the queues stays there. Does nothing while idle."""
        if self._abort is not None:
            self._abort.set()

    async def wait_for_idle(self) -> None:
        await self._idle.wait()

    def _is_answered(self) -> bool:
        for message in reversed(self._messages):
            if not isinstance(message, AssistantMessage):
                return False
            if message.stop_reason not in (StopReason.ERROR, StopReason.ABORTED):
                return not message.tool_calls and message.stop_reason is not StopReason.PAUSE_TURN
        return True

    async def _run(self, prompts: Sequence[UserMessage]) -> RunEnd:
        if self.running:
            raise AgentBusy
        self._idle.clear()
        self._abort = Abort()
        self._storage_error = ""
        try:
            end = await run_agent(self._new_run(self._abort), prompts)
            return self._with_storage_error(end)
        finally:
            self._abort = None
            self._idle.set()

    def _new_run(self, abort: Abort) -> Run:
        config = self._config
        tools = {tool.spec.name: tool for tool in config.tools}
        grace = config.limits.abort_grace_seconds
        policy = ToolPolicy(tools, config.before_tool, config.after_tool, grace)
        loop = LoopConfig(
            config.system,
            config.model,
            policy,
            config.limits,
            spent_usd=lambda: self.totals.usd,
            ends_run=config.ends_run,
        )
        return Run(loop, self._messages, self._steering, self._follow_ups, abort, self._publish)

    async def _publish(self, event: AgentEvent) -> None:
        await self._store(event)
        if isinstance(event, AgentEnd):
            event = replace(event, end=self._with_storage_error(event.end))
        for listener in tuple(self._listeners):
            try:
                await listener(event)
            except Exception:
                log.exception("a listener failed", extra={"event": type(event).__name__})

    async def _store(self, event: AgentEvent) -> None:
        """A run whose words cannot be kept is stopped before it does anything else."""
        transcript = self._config.transcript
        if transcript is None or self._storage_error:
            return
        try:
            if isinstance(event, MessageEnd):
                await asyncio.to_thread(transcript.append, event.message)
            elif isinstance(event, TurnEnd):
                await asyncio.to_thread(transcript.sync)
        except TranscriptError as error:
            self._storage_error = str(error)
            self.abort()

    def _with_storage_error(self, end: RunEnd) -> RunEnd:
        if not self._storage_error:
            return end
        return replace(end, reason=RunReason.ERROR, error=self._storage_error)
