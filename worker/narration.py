"""What of the agent's events people see in the room, and what the controller hears of tools. Pure.

The text of a run's last reply is left to the session, which knows whether it is a question or a
hand-in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shared.description import cut_bytes
from worker.agent.events import (
    AgentEnd,
    AgentEvent,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    Retrying,
    RunReason,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from worker.agent.messages import UNSENT, AssistantMessage
from worker.effects import Say

BEAT = "· working…"
BEAT_EVERY_SECONDS = 60.0
ARGS_BYTES = 80


@dataclass(frozen=True, slots=True)
class Telemetry:
    """What a tool does now; fields as on #firehose, `kind` among them."""

    payload: Mapping[str, Any]


class Narrator:
    """Turns one agent's events into lines."""

    def __init__(self) -> None:
        self._closing = ""
        self._silent_since: float | None = None

    def feed(self, event: AgentEvent, now: float) -> list[Say | Telemetry]:
        match event:
            case MessageStart():
                return self._say_closing()
            case MessageUpdate(Retrying(attempt, seconds, reason)):
                again = f"{reason}; trying again in {max(1, round(seconds))} s"
                return [Say(again, urgent=True)] if attempt == 1 else []
            case MessageEnd(AssistantMessage() as reply) if reply.stop_reason not in UNSENT:
                return self._reply(reply, now)
            case ToolExecutionStart(_, name, args):
                return [Telemetry({"kind": "tool_call_start", "tool": name, "args": _short(args)})]
            case ToolExecutionEnd(_, name, result, duration):
                ended = {"kind": "tool_call_end", "tool": name, "ok": not result.is_error}
                spent = {} if duration is None else {"duration_ms": round(duration * 1000)}
                return [Telemetry(ended | spent)]
            case AgentEnd(_, end):
                closing = self._say_closing()
                return [] if end.reason is RunReason.COMPLETED else closing
            case _:
                return []

    def _reply(self, reply: AssistantMessage, now: float) -> list[Say | Telemetry]:
        text = reply.text.strip()
        if not reply.tool_calls:
            self._closing = text
            return []
        if text:
            self._silent_since = None
            return [Say(text)]
        return self._beat(now)

    def _beat(self, now: float) -> list[Say | Telemetry]:
        """One for a row of silent turns, and again after a long while."""
        if self._silent_since is not None and now - self._silent_since < BEAT_EVERY_SECONDS:
            return []
        self._silent_since = now
        return [Say(BEAT)]

    def _say_closing(self) -> list[Say | Telemetry]:
        text, self._closing = self._closing, ""
        return [Say(text)] if text else []


def _short(args: Mapping[str, object]) -> str:
    """The one argument alone where there is one, else compact JSON."""
    values = list(args.values())
    if len(values) == 1 and isinstance(values[0], str):
        text = values[0]
    else:
        text = json.dumps(args, ensure_ascii=False, separators=(",", ":"), default=str)
    return cut_bytes(" ".join(text.split()), ARGS_BYTES)
