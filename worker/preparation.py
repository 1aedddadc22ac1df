"""Everything between the first line in the room and the first request to the model.

The slow imports are here, inside functions: by then people have seen that somebody has come.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from shared.ircv3.message import Message
from shared.task import title_from
from shared.worker_env import WorkerEnv
from worker import memory, prompt, trust
from worker.agent.agent import Agent, AgentConfig
from worker.agent.cost import cost_usd
from worker.agent.errors import TranscriptError
from worker.agent.events import AgentEnd, AgentEvent, RunReason
from worker.agent.limits import Limits
from worker.agent.messages import Usage, UserMessage
from worker.agent.transcript import Header, Transcript
from worker.ask_human import AskHuman, asks
from worker.effects import Prepared, RoomLine
from worker.errors import StartFailed
from worker.inbound import Room
from worker.redaction import Redactor
from worker.settings import Settings
from worker.workspace import Workspace

if TYPE_CHECKING:
    from worker.agent.messages import Message as AgentMessage
    from worker.agent.messages import ToolCall
    from worker.agent.model import Model
    from worker.agent.toolcalls import AfterTool
    from worker.tool_host import ToolHost
    from worker.tools import ToolResult

_log = logging.getLogger(__name__)

REHEARSAL = "rehearsal"
_ANY_USAGE = Usage(input_tokens=1)


@dataclass(frozen=True, slots=True)
class Told:
    """What the room gave at the start."""

    title: str
    history: Sequence[Message]
    """Oldest first."""
    room: Room


@dataclass(frozen=True, slots=True)
class Kit:
    """What preparing needs; what has to be closed goes on the stack."""

    settings: Settings
    workspace: Workspace
    redactor: Redactor
    stack: AsyncExitStack


@dataclass(frozen=True, slots=True)
class Equipment:
    """A worker that can begin."""

    agent: Agent
    first: Prepared
    price_is_known: bool


async def start_tools(kit: Kit) -> ToolHost:
    """Raises StartFailed where tools may not run, or do not."""
    from worker import sandbox
    from worker.tool_host import ToolHost, ToolHostError

    env, surroundings = kit.settings.env, kit.settings.surroundings
    hidden = Path(env.sandbox_hide) if env.sandbox_hide else None
    layout = await asyncio.to_thread(sandbox.survey, kit.workspace.path, hidden, surroundings)
    setting: Literal["auto", "none"] = "none" if env.sandbox == "none" else "auto"
    probed = sandbox.ProbeResult("")
    if setting == "auto":
        probed = await sandbox.probe(layout, surroundings)
    chosen = sandbox.choose(setting, probed)
    if isinstance(chosen, sandbox.Refused):
        raise StartFailed(chosen.reason)
    launch = sandbox.host_launch(chosen, layout, surroundings)
    try:
        host = await ToolHost.start(launch, kit.redactor.redact)
    except (ToolHostError, OSError) as error:
        raise StartFailed(str(error)) from error
    kit.stack.push_async_callback(host.close)
    return host


async def equip(kit: Kit, told: Told, host: ToolHost) -> Equipment:
    """The agent and what to tell it first. Raises StartFailed, TranscriptError."""
    env, workspace = kit.settings.env, kit.workspace
    assignment = _assignment(env, told)
    everything = (*host.tools, AskHuman())
    old = await asyncio.to_thread(_load, workspace)
    specs = tuple(tool.spec for tool in everything)
    if old is not None and old.messages and old.header.continues_with(_model_name(env), specs):
        transcript, first = old, _returned(assignment, told, old)
    else:
        if old is not None:
            old.close()
        fence = trust.make_fence(secrets.token_hex(8))
        header = Header(prompt.system_prompt(assignment, fence), specs, fence, _model_name(env))
        transcript = await asyncio.to_thread(Transcript.create, workspace.transcript, header)
        first = _fresh(assignment, told, fence, env)
    kit.stack.callback(transcript.close)
    config = AgentConfig(
        system=transcript.header.system,
        model=_model(kit, transcript.header.fence),
        tools=everything,
        transcript=transcript,
        after_tool=_redacting(kit.redactor),
        ends_run=asks,
        limits=Limits(turns=env.agent_max_turns),
    )
    priced = cost_usd(_ANY_USAGE, _model_name(env)) is not None
    agent = Agent(config)
    agent.subscribe(_sweeping(host))
    return Equipment(agent, first, priced)


def _load(workspace: Workspace) -> Transcript | None:
    """A transcript that cannot be read is begun anew; the room's history is the memory then."""
    try:
        return Transcript.load(workspace.transcript)
    except TranscriptError as error:
        _log.warning("%s", error)
        return None


def _fresh(assignment: prompt.Assignment, told: Told, fence: str, env: WorkerEnv) -> Prepared:
    lines = memory.lines_of(told.history, told.room)
    notes, remembered = "", ""
    if env.attempt == 1:
        notes = trust.attribute(lines, told.room.channel, fence)
    else:
        limit = env.agent_memory_lines
        remembered = memory.memory_block(told.history, told.room, fence, limit)
    return _prepared(prompt.first_message(assignment, notes, remembered), fence, lines)


def _returned(assignment: prompt.Assignment, told: Told, old: Transcript) -> Prepared:
    """Only what was said since the newest line that the transcript holds."""
    fence = old.header.fence
    lines = memory.lines_of(_newer(told.history, old.messages), told.room)
    news = trust.user_text(lines, told.room.channel, fence)
    return _prepared(prompt.return_message(assignment, news), fence, lines)


def _newer(history: Sequence[Message], messages: Sequence[AgentMessage]) -> Sequence[Message]:
    known = {m.reference for m in messages if isinstance(m, UserMessage)}
    places = [i for i, row in enumerate(history) if row.tags.get("msgid") in known]
    return history[places[-1] + 1 :] if places else history


def _prepared(text: str, fence: str, lines: Sequence[RoomLine]) -> Prepared:
    msgids = [line.msgid for line in lines if line.msgid]
    return Prepared(text, fence, frozenset(msgids), msgids[-1] if msgids else "")


def _assignment(env: WorkerEnv, told: Told) -> prompt.Assignment:
    description = env.task_description or memory.newest_description(told.history, told.room)
    if description is None:
        raise StartFailed("the description is neither in the environment nor in the room")
    return prompt.Assignment(
        account=env.irc_account,
        channel=env.task_channel,
        attempt=env.attempt,
        requester=env.requester,
        title=told.title or title_from(description),
        description=description,
        workspace=env.workspace,
    )


def _model_name(env: WorkerEnv) -> str:
    return REHEARSAL if env.model == REHEARSAL else env.worker_model


def _model(kit: Kit, fence: str) -> Model:
    env, kept = kit.settings.env, kit.settings.secrets
    if env.model == REHEARSAL:
        from worker.agent.rehearsal import RehearsalModel

        return RehearsalModel(fence)
    if not kept.anthropic_api_key:
        raise StartFailed("there is no ANTHROPIC_API_KEY for MODEL=anthropic")
    from worker.agent.anthropic_model import AnthropicConfig, AnthropicModel

    base_url = env.anthropic_base_url or None
    model = AnthropicModel(AnthropicConfig(env.worker_model, kept.anthropic_api_key, base_url))
    kit.stack.push_async_callback(model.close)
    return model


def _sweeping(host: ToolHost) -> Callable[[AgentEvent], Awaitable[None]]:
    """A stop ends everything that tools started, servers of earlier calls too, before it is
    confirmed."""

    async def sweep(event: AgentEvent) -> None:
        match event:
            case AgentEnd(_, end) if end.reason is RunReason.ABORTED:
                if not await host.sweep():
                    _log.warning("what tools left in the background may still run")

    return sweep


def _redacting(redactor: Redactor) -> AfterTool:
    """Log, memory and request have the same bytes, so secrets go before a result is kept."""

    async def redact(call: ToolCall, result: ToolResult) -> ToolResult:
        return replace(result, text=redactor.redact(result.text))

    return redact
