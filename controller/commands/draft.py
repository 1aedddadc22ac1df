"""Writing a task: `!new !desc !ready !unready`. Pure."""

from __future__ import annotations

from dataclasses import replace

from controller.commands.look import stands
from controller.commands.request import Outcome, Request, refused, short
from controller.effects import (
    Effect,
    Invite,
    MakeChannel,
    PostDescription,
    Say,
    SetMetadata,
    SetTopic,
)
from controller.lifecycle import WORDS, By, Refusal, apply
from controller.transition import event
from controller.world import World
from shared import description
from shared.channels import TASKS, TaskChannel
from shared.task import Status, Task, Times, title_from
from shared.task_metadata import to_metadata

_ENDING_CHARS = 40
EVENT_CHARS = 400
"""Of a description in its event; the line cuts it further."""


def new(request: Request) -> Outcome:
    """A draft. What the log has already is completed with the same N."""
    text = request.args
    if not title_from(text):
        return refused(f"nothing can be seen of that description; usage: {request.command.usage}")
    if not description.fits(text):
        return refused(_too_long("!new", text))
    known = _known(request)
    task = replace(known or _numbered(request), title=title_from(text), description=text)
    request.world.board.put(task)
    request.world.board.live(task.channel).last_activity = request.now
    log: tuple[Effect, ...] = ()
    if known is None:
        told = request.told
        log = (event(task, "task_created", told, title=task.title, requester=task.requester),)
    writes = (
        MakeChannel(task.channel),
        PostDescription(task.channel, text),
        SetMetadata(task.channel, {**to_metadata(task), **description.to_pieces(text)}),
        SetMetadata(TASKS, {"next_task": str(request.world.board.next_number)}),
        SetTopic(task.channel, task.topic),
        Invite(request.line.nick, task.channel),
        *_welcome(request, task),
    )
    line = f"{task.channel} is a draft: “{short(task.title)}”; !ready there starts it"
    return Outcome((line, *_taken(request, text)), (*log, *writes), lane=task.channel)


def _known(request: Request) -> Task | None:
    """The task that this command made before a restart."""
    for record in request.done:
        if record.event.kind == "task_created" and record.event.task:
            return request.world.board.get(record.event.task)
    return None


def _numbered(request: Request) -> Task:
    channel = TaskChannel(request.world.board.take_number()).name
    entered = {Status.PENDING: int(request.now)}
    return Task(
        channel, requester=request.account, created=int(request.now), times=Times(0, entered)
    )


def _welcome(request: Request, task: Task) -> tuple[Effect, ...]:
    """An INVITE alone is easily missed (design 16); in a DM the answer says the name."""
    if request.in_dm:
        return ()
    words = f"{task.channel} is yours: /join {task.channel}; say !ready there to start it"
    return (Say(request.line.nick, (words,)),)


def desc(request: Request) -> Outcome:
    """Show, set or append."""
    task = request.the_task()
    if not request.args:
        return _shown(task)
    if request.done and task.status is not Status.PENDING:
        return stands(request)
    if task.status is not Status.PENDING:
        return refused(
            f"the description of {task.channel} is frozen, for it is {WORDS[task.status]}; "
            + ("!unready makes it a draft again" if task.status is Status.READY else _JUST_SAY)
        )
    text = _new_text(request, task)
    if not title_from(text):
        return refused(f"usage: {request.command.usage}")
    if not description.fits(text):
        return refused(_too_long("!desc", text))
    line = f"{task.channel} has a new description: “{short(title_from(text))}”"
    effects = describe(request, task, text)
    return Outcome((line, *_taken(request, text)), effects)


_JUST_SAY = "say it here in plain text instead"


def _shown(task: Task) -> Outcome:
    lines = [line for line in task.description.splitlines() if line.strip()]
    if not lines:
        return Outcome((f"{task.channel} has no description yet; !desc <text> sets it",))
    size = f"{len(lines)} line{'' if len(lines) == 1 else 's'}"
    return Outcome((f"{task.channel}: the description has {size}", *lines))


def _new_text(request: Request, task: Task) -> str:
    if not request.args.startswith("+"):
        return request.args
    added = request.args[1:].strip()
    if request.done and task.description.endswith(added):
        return task.description
    return f"{task.description}\n{added}".strip() if added else ""


def describe(request: Request, task: Task, text: str) -> tuple[Effect, ...]:
    """Log, post, the pieces that differ, and the surplus of a longer text before last (design 4).

    Each piece costs a paced write: an addition to a long text must not rewrite all of it.
    """
    changed = replace(task, title=title_from(text), description=text)
    request.world.board.put(changed)
    pieces, old = description.to_pieces(text), description.to_pieces(task.description)
    written = {k: v for k, v in pieces.items() if request.done or old.get(k) != v}
    told = request.told
    events = [event(changed, "task_updated", told, field="description", value=text[:EVENT_CHARS])]
    if changed.title != task.title:
        events.append(event(changed, "task_updated", told, field="title", value=changed.title))
    surplus = dict.fromkeys(description.surplus(old, pieces))
    return (
        *(events if not request.done else ()),
        PostDescription(task.channel, text),
        *((SetMetadata(task.channel, written),) if written else ()),
        *((SetMetadata(task.channel, surplus),) if surplus else ()),
        SetTopic(task.channel, changed.topic),
    )


def ready(request: Request) -> Outcome:
    """To the queue."""
    task = request.the_task()
    if not task.description:
        return refused(f"{task.channel} has no description yet; !desc <text> sets it")
    if task.status is not Status.PENDING:  # a way back to the queue is !reopen
        return request.carry(Refusal.of(task), str)
    moved = apply(task, Status.READY, By.PERSON, request.now)
    return request.carry(moved, lambda moved_task: place_in_queue(request.world, moved_task))


def unready(request: Request) -> Outcome:
    """Back to a draft."""
    task = request.the_task()
    moved = apply(task, Status.PENDING, By.PERSON, request.now)
    return request.carry(
        moved, lambda moved_task: f"{moved_task.channel} is a draft again; !ready starts it"
    )


def place_in_queue(world: World, task: Task) -> str:
    """`... ready, place 2 of 5 in the queue`, and what it waits for."""
    queue = [waiting.channel for waiting in world.board.queue()]
    place = queue.index(task.channel) + 1
    free = world.settings.max_active_total - len(world.board.active())
    then = "a worker is being started" if place <= free else "it starts when a slot is free"
    return f"{task.channel} is ready, place {place} of {len(queue)} in the queue; {then}"


def _too_long(command: str, text: str) -> str:
    size = len(description.encode(text).encode())
    return (
        f"{command} takes at most {description.MAX_BYTES:,} bytes and this is {size:,}; nothing "
        "was stored. Shorten it, or put the rest where the worker can read it"
    )


def _taken(request: Request, text: str) -> tuple[str, ...]:
    """Say what was taken where it came in several lines, so that nothing is cut in silence."""
    lines = max(request.pieces, len(text.splitlines()))
    if lines < 2:
        return ()
    ending = short(text[-_ENDING_CHARS:])
    return (f"taken: {lines} lines, {len(text.encode()):,} bytes, ending in “{ending}”",)
