"""Writes the documents whose tables come from code; `--check` fails where one is stale.

python -m docs.build          write them
python -m docs.build --check  exit 1 and name those that differ
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from controller.commands.request import Role, Scope
from controller.commands.table import COMMANDS
from controller.lifecycle import TRANSITIONS
from controller.local.ergo_config import CHANGES
from controller.settings import Settings
from shared.firehose import KINDS
from shared.task import Status

FOLDER = Path(__file__).resolve().parent
_GENERATED = "<!-- Written by `python -m docs.build`; change the code that it names, not this. -->"

_SCOPES: Mapping[Scope, str] = {
    Scope.CONTROL: "#tasks, DM",
    Scope.TASK: "task",
    Scope.TASK_OR_NUMBER: "task, elsewhere with its number",
    Scope.ANYWHERE: "anywhere",
}
_ROLES: Mapping[Role, str] = {
    Role.ANYONE: "anyone",
    Role.MEMBER: "who is logged in",
    Role.REQUESTER: "requester, maintainer",
    Role.MAINTAINER: "maintainer",
}


def commands() -> str:
    """docs/commands.md"""
    rows = [
        (
            f"`{c.usage}`",
            _SCOPES[c.scope],
            _role(c.role, c.role_with_args),
            c.help,
            f"`{c.example}`",
        )
        for c in COMMANDS.values()
    ]
    return _page(
        "Commands",
        "From `COMMANDS` in `controller/commands/table.py`.",
        "A command begins with `!`, or with `controller: `, or with nothing in a private message\n"
        "to the controller. Upper and lower case are the same. In a task's channel any other line\n"
        "goes to the worker.",
        _table(("command", "where", "who", "effect", "example"), rows),
    )


def task_states() -> str:
    """docs/task-states.md"""
    rows = [
        (str(r.start or "-"), str(r.to), str(r.by), r.when, ", ".join(str(d) for d in r.effects))
        for r in TRANSITIONS
    ]
    edges: dict[tuple[Status | None, Status], list[str]] = {}
    for row in TRANSITIONS:
        if row.to is not Status.ARCHIVED:
            edges.setdefault((row.start, row.to), []).append(row.when)
    lines = [f"    {a or '[*]'} --> {b}: {' / '.join(when)}" for (a, b), when in edges.items()]
    diagram = "\n".join(["```mermaid", "stateDiagram-v2", *lines, "```"])
    return _page(
        "States of a task",
        "From `TRANSITIONS` in `controller/lifecycle.py`.",
        "What is not in the table is refused, with the state and the commands that would help,\n"
        "and changes nothing. Effects happen in the order in which they stand. The diagram leaves\n"
        "out `!archive`, which is legal everywhere.",
        diagram,
        _table(("from", "to", "by", "when", "effects"), rows),
    )


def firehose() -> str:
    """docs/firehose.md"""
    rows = [(f"`{kind}`", ", ".join(f"`{f}`" for f in names)) for kind, names in KINDS.items()]
    return _page(
        "#firehose, version 1",
        "From `KINDS` in `shared/firehose.py`.",
        "One JSON object per message, at most 400 bytes. Every event has `v` (1), `id` (counts up\n"
        "within one run of the controller), `t` (unix seconds) and `kind`; events of a task also\n"
        "`task` (its channel) and `repo` (null without one); events that a command or directive\n"
        "caused also `cause` (its msgid) and `at` (the channel or account where it stands).\n"
        "`cut` is true where free text was shortened. Absent values are left out. Readers keep\n"
        "unknown kinds and fields. Replay is CHATHISTORY, paged by msgid.",
        _table(("kind", "fields of its own"), rows),
    )


def settings() -> str:
    """docs/settings.md"""
    rows = [
        (
            f"`{name.upper()}`",
            _default(field.get_default(call_default_factory=True)),
            str(field.description),
        )
        for name, field in Settings.model_fields.items()
    ]
    return _page(
        "Settings of the controller",
        "From `Settings` in `controller/settings.py`.",
        "Environment variables without a prefix; an empty one counts as unset. What concerns\n"
        "workers is handed on to them.",
        _table(("variable", "default", "meaning"), rows),
    )


def ergo_config() -> str:
    """docs/ergo-config.md"""
    rows = [(f"`{c.path}`", f"`{c.value}`", c.why) for c in CHANGES]
    return _page(
        "ergo's configuration",
        "From `CHANGES` in `controller/local/ergo_config.py`.",
        "What differs from `ergo defaultconfig`, besides names, addresses and the oper block\n"
        "`controller`. The same source serves local runs, tests and deployments.",
        _table(("key", "value", "why"), rows),
    )


DOCUMENTS: Mapping[str, Callable[[], str]] = {
    "commands.md": commands,
    "task-states.md": task_states,
    "firehose.md": firehose,
    "settings.md": settings,
    "ergo-config.md": ergo_config,
}


def stale(folder: Path) -> list[str]:
    """Names of the documents that are missing or differ from what the code says."""
    return [name for name, write in DOCUMENTS.items() if _stored(folder / name) != write()]


def main(arguments: Sequence[str]) -> int:
    """The exit code."""
    if list(arguments) == ["--check"]:
        found = stale(FOLDER)
        for name in found:
            sys.stderr.write(f"docs/{name} is stale: run `python -m docs.build`\n")
        return 1 if found else 0
    for name, write in DOCUMENTS.items():
        (FOLDER / name).write_text(write())
    return 0


def _stored(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


def _role(role: Role, with_args: Role | None) -> str:
    if with_args is None or with_args is role:
        return _ROLES[role]
    return f"{_ROLES[role]}; with text {_ROLES[with_args]}"


def _default(value: object) -> str:
    shown = getattr(value, "get_secret_value", lambda: value)()
    if shown is None or shown in ("", ()):
        return "-"
    return f"`{str(shown).lower() if isinstance(shown, bool) else shown}`"


def _page(title: str, source: str, *parts: str) -> str:
    return "\n\n".join([_GENERATED, f"# {title}", source, *parts]) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

    return "\n".join([line(head), line(["---"] * len(head)), *map(line, rows)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
