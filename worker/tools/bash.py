"""The `bash` tool: one command in a shell of its own, without a terminal and without input."""

from __future__ import annotations

import asyncio
import math
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from worker.tools import ToolContext, ToolError, ToolResult, ToolSpec
from worker.tools.children import Children
from worker.tools.command_output import CommandOutput, describe_cut
from worker.tools.process import Cause, Command, Ending, run_command
from worker.tools.spill import SpillFolder
from worker.tools.truncate import Tail

_DEFAULT_SECONDS = 120
_MAX_SECONDS = 30 * 60

SPEC = ToolSpec(
    name="bash",
    description=(
        "Run a bash command in the workspace; every call is a new shell. Output is cut to its last"
        " 2,000 lines or 50 KiB and then kept whole in a file. There is no terminal and no input:"
        " editors and pagers fail, so use git commit -m, --no-edit and the like. Start servers in"
        " the background with their output in a file: server >log 2>&1 &"
    ),
    input_schema={
        "type": "object",
        "properties": {
            "command": {"type": "string"},
            "timeout": {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": _MAX_SECONDS,
                "description": f"Seconds until it is killed, {_DEFAULT_SECONDS} if not given",
            },
        },
        "required": ["command"],
    },
)


@dataclass(frozen=True, slots=True)
class BashSite:
    """Where commands run and what they share."""

    workspace: Path
    spills: SpillFolder
    children: Children


class BashTool:
    """Calls may run side by side."""

    spec = SPEC

    def __init__(self, site: BashSite) -> None:
        self._site = site

    async def run(self, args: Mapping[str, object], context: ToolContext) -> ToolResult:
        """Run to the end; a command that fails is an error result with its output."""
        seconds = _deadline(args.get("timeout"))
        text = _command(args.get("command"))
        if context.aborted.is_set():
            raise ToolError("aborted: the command was not started")
        workspace = self._site.workspace
        if not await asyncio.to_thread(workspace.is_dir):
            raise ToolError(f"{workspace}: the working directory is gone; nothing was run")
        command = Command(("/bin/bash", "-c", text), workspace, seconds)
        output = CommandOutput(self._site.spills, context.on_update)
        try:
            ending = await run_command(command, self._site.children, output.feed, context.aborted)
        except OSError as error:
            raise ToolError(f"bash could not be started: {error.strerror}") from error
        finally:
            tail = output.finish()
        notes = [describe_cut(tail, output.spill), _describe_end(ending, seconds)]
        spilled = str(output.spill.path) if output.spill else None
        return _result(tail, ending, notes, spilled)


def _deadline(value: object) -> float:
    if value is None:
        return _DEFAULT_SECONDS
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ToolError(f"timeout: a number of seconds is needed, not {value!r}")
    if not math.isfinite(value) or not 0 < value <= _MAX_SECONDS:
        raise ToolError(f"timeout: more than 0 and at most {_MAX_SECONDS} seconds, not {value}")
    return float(value)


def _command(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ToolError("command: a non-empty string is needed")
    if "\0" in value:
        raise ToolError("command: it holds a NUL character; use printf '\\0' to make one")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"command: {error.reason} at position {error.start}") from error
    return value


def _describe_end(ending: Ending, seconds: float) -> str:
    match ending.cause:
        case Cause.TIMED_OUT:
            return f"[Timed out after {seconds:g} s: the command and its children were killed]"
        case Cause.ABORTED:
            return "[Aborted: the command and its children were killed]"
        case Cause.EXITED:
            background = (
                "[The command has ended, but what it left in the background goes on writing; that"
                " output is no longer read. Send it to a file: command >log 2>&1 &]"
                if ending.still_writing
                else ""
            )
            return "\n".join(filter(None, [background, _describe_code(ending.exit_code)]))


def _describe_code(code: int) -> str:
    if code == 0:
        return ""
    try:
        name = f" ({signal.Signals(code - 128).name})"
    except ValueError:
        name = ""
    return f"[Exit code {code}{name}]"


def _result(tail: Tail, ending: Ending, notes: list[str], spilled: str | None) -> ToolResult:
    details = {
        "exit_code": ending.exit_code,
        "ended": ending.cause.value,
        "truncated": tail.is_cut,
        "full_output": spilled,
    }
    text = "\n\n".join(filter(None, [tail.text or "(no output)", *notes]))
    is_error = ending.cause is not Cause.EXITED or ending.exit_code != 0
    return ToolResult(text, is_error=is_error, details=details)
