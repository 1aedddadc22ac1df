"""The one way from a command to its job: who may, where, how much, then the handler. Pure."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from controller.commands import look
from controller.commands.parse import Parsed, parse_task_number
from controller.commands.request import (
    Command,
    Outcome,
    Request,
    Role,
    Scope,
    refused,
    role_of,
    short,
)
from controller.commands.table import COMMANDS
from controller.effects import Answer, Direct, Handled, Job, Say, Spoken
from controller.log_loss import CAUSE
from controller.texts import unping, unpinged
from controller.world import World
from shared.channels import TASKS, is_channel
from shared.firehose import Record
from shared.ircv3.casemap import fold
from shared.ircv3.split import split_text
from shared.task import Task

PAGE_LINES = 8
SUGGESTIONS = 3
LONG_ANSWERS = 100
"""How many may wait for a !more."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A command as intake hands it over."""

    line: Spoken
    parsed: Parsed
    pieces: int = 1
    done: tuple[Record, ...] = ()


def respond(world: World, asked: Asked, now: float) -> list[Job]:
    """The job of a command; of an unknown word one private line at most."""
    command = COMMANDS.get(asked.parsed.word)
    if command is None:
        return _unknown(asked)
    request = _request(world, command, asked, now)
    outcome = _denied(request) or _handled(request)
    return [_job(request, outcome)]


def expired(world: World, asked: Asked, now: float) -> list[Job]:
    """A command that was missed and is too old to be run."""
    command = COMMANDS.get(asked.parsed.word)
    if command is None:
        return []
    request = _request(world, command, asked, now)
    where = f" for {request.task.channel}" if request.task else ""
    return [_job(request, refused(f"!{command.name}{where} expired, please send it again"))]


def _request(world: World, command: Command, asked: Asked, now: float) -> Request:
    task = _task(world, command, asked)
    return Request(
        world=world,
        command=command,
        commands=COMMANDS,
        args=asked.parsed.args,
        line=asked.line,
        now=now,
        task=task,
        role=role_of(world, asked.line.account, task),
        pieces=asked.pieces,
        done=asked.done,
    )


def _task(world: World, command: Command, asked: Asked) -> Task | None:
    number = parse_task_number(asked.parsed.args)
    if command.scope is Scope.TASK_OR_NUMBER and number is not None:
        return world.board.by_number(number)
    return world.board.get(asked.line.place)


def _handled(request: Request) -> Outcome:
    if not request.done:
        return request.command.handler(request)
    return (request.command.finish or look.stands)(request)


def _denied(request: Request) -> Outcome | None:
    """Why not; None = nothing is against it."""
    needed = request.command.role
    if request.args and request.command.role_with_args is not None:
        needed = request.command.role_with_args
    if needed > Role.ANYONE and request.role is Role.ANYONE:
        return refused(
            f"!{request.command.name} needs the right “member”: log in to an account first"
        )
    misplaced = _misplaced(request)
    if misplaced is not None:
        return refused(misplaced)
    if request.role < needed:
        return refused(_missing_right(request, needed))
    if needed > Role.ANYONE and request.world.log_lost:
        return refused(f"{CAUSE}; nothing was done, please try again later")
    fewest, most = request.command.arity
    count = len(request.words)
    if count < fewest or (most is not None and count > most):
        return refused(f"usage: {request.command.usage} | example: {request.command.example}")
    return None


def _misplaced(request: Request) -> str | None:
    name, place = request.command.name, request.line.place
    match request.command.scope:
        case Scope.TASK if request.task is None:
            return f"!{name} belongs in its task's channel, such as {_example(request)}"
        case Scope.TASK_OR_NUMBER if request.task is None:
            asked = f"no task “{short(request.args, 40)}”; " if request.args else ""
            return f"{asked}usage: {request.command.usage} | example: !{name} 12"
        case Scope.CONTROL if not (request.in_dm or fold(place) == fold(TASKS)):
            return f"say !{name} in #tasks, or to me alone"
        case _:
            return None


def _example(request: Request) -> str:
    """The channel that was probably meant."""
    number = parse_task_number(request.words[0]) if request.words else None
    task = request.world.board.by_number(number) if number else None
    return task.channel if task else "#task-12"


def _missing_right(request: Request, needed: Role) -> str:
    maintainers = request.world.settings.maintainers
    rights = [f"“maintainer” ({unpinged(maintainers) or 'nobody has it'})"]
    if needed <= Role.REQUESTER and request.task is not None:
        owner = request.task.requester
        rights.insert(0, f"“requester” ({unping(owner) if owner else 'unknown'})")
    if needed is Role.ASSIGNEE:
        rights.insert(0, "“assignee”")
    where = f" of {request.task.channel}" if request.task else ""
    return f"!{request.command.name} needs the right {' or '.join(rights)}{where}"


def _job(request: Request, outcome: Outcome) -> Job:
    line = request.line
    lane = outcome.lane or f"answers {line.place}"
    if outcome.lane is None and outcome.effects and request.task is not None:
        lane = request.task.channel
    answer = Answer(
        target=line.place if is_channel(line.place) else line.nick,
        lines=_paged(request, _addressed(request, outcome, outcome.lines)),
        cause=line.msgid,
        notice=not request.in_dm and not outcome.refused,
        if_unconfirmed=outcome.if_unconfirmed or _truth(outcome),
    )
    return Job(lane, (*outcome.effects, answer, Handled(line.msgid, line.at)))


def _truth(outcome: Outcome) -> tuple[str, ...] | None:
    """Where a worker must act and has not confirmed."""
    if not any(isinstance(effect, Direct) for effect in outcome.effects):
        return None
    return (*outcome.lines, "the worker has not confirmed; it is told again until it does")


def _addressed(request: Request, outcome: Outcome, lines: tuple[str, ...]) -> tuple[str, ...]:
    if not outcome.refused or request.in_dm:
        return lines
    return (f"{request.line.nick}: {lines[0]}", *lines[1:])


def _paged(request: Request, lines: tuple[str, ...]) -> tuple[str, ...]:
    budget = request.world.settings.line_max_bytes
    cut = [piece for line in lines for piece in split_text(line, budget)]
    if len(cut) <= PAGE_LINES:
        return tuple(cut)
    rest = tuple(cut[PAGE_LINES - 1 :])
    pages = request.world.pages
    pages[request.line.place, request.line.nick] = rest
    while len(pages) > LONG_ANSWERS:
        del pages[next(iter(pages))]
    return (*cut[: PAGE_LINES - 1], f"… {len(rest)} more lines: !more")


def not_understood(line: Spoken) -> list[Job]:
    """Words to us alone that are no command: silence would look like absence."""
    if is_channel(line.place) or line.account is None or not line.live:
        return []
    text = "that is no command; help lists what there is"
    return [Job(f"answers {line.nick}", (Say(line.nick, (text,)),))]


def _unknown(asked: Asked) -> list[Job]:
    """Silence for strangers, and for words of the past."""
    line, word = asked.line, asked.parsed.word
    if line.account is None or not line.live:
        return []
    close = difflib.get_close_matches(word, COMMANDS, n=SUGGESTIONS)
    hint = f"did you mean {' or '.join(f'!{name}' for name in close)}?" if close else ""
    text = f"there is no !{short(word, 40)}; {hint or '!help lists what there is'}"
    return [Job(f"answers {line.nick}", (Say(line.nick, (text,)),))]
