"""COMMANDS: the one table of what people can ask for. Pure.

`!help`, docs/commands.md and the example tests are made from it.
"""

from __future__ import annotations

from collections.abc import Mapping

from controller.commands import draft, look, review, run
from controller.commands.request import Command, Role, Scope

_ROWS = (
    Command(
        "new", Scope.CONTROL, Role.MEMBER, (1, None),
        "!new <description>", "!new Write a haiku about autumn to haiku.txt",
        "make a task; its first line becomes the title",
        draft.new, finish=draft.new, multiline=True,
    ),
    Command(
        "ready", Scope.TASK, Role.REQUESTER, (0, 0),
        "!ready", "!ready",
        "put the task into the queue; its description is frozen", draft.ready,
    ),
    Command(
        "unready", Scope.TASK, Role.REQUESTER, (0, 0),
        "!unready", "!unready",
        "take it out of the queue, to change it", draft.unready,
    ),
    Command(
        "desc", Scope.TASK, Role.ANYONE, (0, None),
        "!desc [text | +text]", "!desc +It must rhyme.",
        "show, replace or extend the description of a draft",
        draft.desc, role_with_args=Role.REQUESTER, finish=draft.desc, multiline=True,
    ),
    Command(
        "tasks", Scope.ANYWHERE, Role.ANYONE, (0, 8),
        "!tasks [mine] [<state>] [all]", "!tasks mine blocked",
        "list tasks, newest activity first; without all, open ones", look.tasks,
    ),
    Command(
        "status", Scope.TASK_OR_NUMBER, Role.ANYONE, (0, 1),
        "!status [N]", "!status 12",
        "all facts of one task", look.status,
    ),
    Command(
        "complete", Scope.TASK, Role.REQUESTER, (0, 0),
        "!complete", "!complete",
        "accept what was handed in", review.complete,
    ),
    Command(
        "reopen", Scope.TASK, Role.REQUESTER, (0, None),
        "!reopen [note]", "!reopen The second line has six syllables.",
        "send it back, or wake it; the worker hears the note first",
        review.reopen, finish=review.reopened,
    ),
    Command(
        "stop", Scope.TASK, Role.REQUESTER, (0, 0),
        "!stop", "!stop",
        "abort what the worker does now and park the task", run.stop,
    ),
    Command(
        "kill", Scope.TASK, Role.REQUESTER, (0, 0),
        "!kill", "!kill",
        "end the worker at once; !reopen starts another", run.kill,
    ),
    Command(
        "archive", Scope.TASK, Role.REQUESTER, (0, 0),
        "!archive", "!archive",
        "put the task away", review.archive,
    ),
    Command(
        "more", Scope.ANYWHERE, Role.ANYONE, (0, 0),
        "!more", "!more",
        "the next page of a long answer", look.more,
    ),
    Command(
        "help", Scope.ANYWHERE, Role.ANYONE, (0, 1),
        "!help [command]", "!help new",
        "list the commands, or explain one", look.help_,
    ),
    Command(
        "ping", Scope.ANYWHERE, Role.ANYONE, (0, 0),
        "!ping", "!ping",
        "see whether I am here", look.ping,
    ),
    Command(
        "version", Scope.ANYWHERE, Role.ANYONE, (0, 0),
        "!version", "!version",
        "say which version runs", look.version,
    ),
)  # fmt: skip

COMMANDS: Mapping[str, Command] = {command.name: command for command in _ROWS}
