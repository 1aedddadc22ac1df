"""Looking: `!tasks !status !help !more !ping !version`. Pure."""

from __future__ import annotations

from controller.commands.request import Command, Outcome, Request, Role, Scope, refused, short
from controller.effects import Say
from controller.environment import model_name
from controller.lifecycle import HELPS, WORDS
from controller.texts import age, bold, next_step, state, unping
from controller.world import World
from shared.description import cut_bytes
from shared.ircv3.casemap import fold
from shared.task import Status, Task

_TITLE_BYTES = 100
_MOST_ROWS = 100
ROLE_WORDS = {
    Role.ANYONE: "anyone",
    Role.MEMBER: "who is logged in",
    Role.ASSIGNEE: "the assignee, the requester and maintainers",
    Role.REQUESTER: "the requester and maintainers",
    Role.MAINTAINER: "maintainers",
}


def tasks(request: Request) -> Outcome:
    """Newest activity first; open ones unless asked otherwise."""
    wanted: set[Status] = set()
    mine = everything = False
    for word in (word.lower().replace("-", "_") for word in request.words):
        if word == "mine":
            mine = True
        elif word == "all":
            everything = True
        elif word in set(Status):
            wanted.add(Status(word))
        else:
            return refused(f"“{short(word, 40)}” is no state; usage: {request.command.usage}")
    if not wanted:
        wanted = set(Status) if everything else set(Status) - {Status.DONE, Status.ARCHIVED}
    return _listed(request, wanted, mine=mine)


def _listed(request: Request, wanted: set[Status], *, mine: bool) -> Outcome:
    world = request.world
    found = [t for t in world.board if t.status in wanted and (not mine or _theirs(request, t))]
    if not found:
        return Outcome(("no such task is there; !new <description> in #tasks makes one",))
    found.reverse()
    found.sort(key=world.board.last_activity, reverse=True)
    rows = [_row(world, task, request.now) for task in found[:_MOST_ROWS]]
    if len(found) > _MOST_ROWS:
        rows.append(f"… and {len(found) - _MOST_ROWS} older ones; !tasks <state> lists fewer")
    return Outcome(tuple(rows))


def _theirs(request: Request, task: Task) -> bool:
    me = fold(request.account)
    return bool(me) and me in (fold(task.requester or ""), fold(task.assignee or ""))


def _row(world: World, task: Task, now: float) -> str:
    entered = task.times.entered.get(task.status, task.created)
    who = f" | {unping(task.requester)}" if task.requester else ""
    waits = f" | waits for {', '.join(task.blocked_by)}" if task.blocked_by else ""
    reason = f" ({task.reason.partition(':')[0]})" if task.reason else ""
    head = f"{bold(task.channel)} [{task.status}]{reason} {age(now - entered)}{who}{waits}"
    return f"{head} | {cut_bytes(task.title, _TITLE_BYTES)}"


def status(request: Request) -> Outcome:
    """All facts of one task."""
    task, now = request.the_task(), request.now
    entered = task.times.entered.get(task.status, task.created)
    lines = [
        f"{bold(task.channel)} is {state(task)}, for {age(now - entered)} now: {task.title}",
        f"{task.channel}: {_people(task)}, made {age(now - task.created)} ago",
        f"{task.channel}: {_worker(request.world, task, now)}",
        f"{task.channel}: {_numbers(request.world, task)}",
    ]
    lines += [f"{task.channel}: {fact}" for fact in _facts(task)]
    helps = (next_step(task),) if task.status is Status.BLOCKED else HELPS[task.status]
    lines.append(f"{task.channel}: what helps now: {', '.join(helps)}")
    return Outcome(tuple(lines))


def _people(task: Task) -> str:
    requester = unping(task.requester) if task.requester else "unknown"
    assignee = f", assignee {unping(task.assignee)}" if task.assignee else ""
    return f"requester {requester}{assignee}"


def _worker(world: World, task: Task, now: float) -> str:
    """Only what the last sweep saw counts as running (design 1.8)."""
    run = task.run
    if run.attempt == 0:
        return "no worker yet"
    who = f"worker {unping(run.worker or '?')}, attempt {run.attempt}"
    live = world.board.live(task.channel)
    if run.exited is not None:
        return f"{who}, has left ({run.exited})"
    if live.present_since is not None:
        return f"{who}, here for {age(now - live.present_since)}"
    if world.board.proven_gone(task):
        return f"{who}, not running"
    return f"{who}, " + ("starting" if run.joined is None else "alive, not in the channel")


def _numbers(world: World, task: Task) -> str:
    usage = task.usage
    budget = world.settings.worker.budget_usd if task.budget is None else task.budget
    limit = f" of ${budget:g}" if budget else ""
    return (
        f"${usage.cost_usd:.2f}{limit}, {usage.tokens_in:,} tokens in, {usage.tokens_out:,} out, "
        f"{usage.turns} turns, model {model_name(world.settings, task)}, priority {task.priority}"
    )


def _facts(task: Task) -> list[str]:
    facts = (
        ("pull request", task.pr),
        ("waits for", ", ".join(task.blocked_by)),
        ("repo", " ".join(part for part in (task.repo, task.repo_url) if part)),
        ("default branch", task.default_branch),
    )
    return [f"{name} {value}" for name, value in facts if value]


def stands(request: Request) -> Outcome:
    """The answer to a command that was carried out before a restart and never answered."""
    task = request.the_task()
    line = f"!{request.command.name} was carried out; {task.channel} is {WORDS[task.status]} now"
    return Outcome((line,))


def help_(request: Request) -> Outcome:
    """One line in the room and the list in private; with a word, that command."""
    if request.args:
        name = request.args.lower().removeprefix("!")
        command = request.commands.get(name)
        if command is None:
            return refused(f"there is no !{short(name, 40)}; !help lists all commands")
        return Outcome(explain(command))
    rows = tuple(f"{bold(c.usage)} - {c.help}" for c in request.commands.values())
    if request.in_dm:
        return Outcome(rows)
    line = "!new <description> makes a task; the list of commands comes to you alone"
    return Outcome((line,), (Say(request.line.nick, rows),))


def explain(command: Command) -> tuple[str, ...]:
    """Usage, what it does, an example, who may."""
    who = ROLE_WORDS[command.role]
    if command.role_with_args is not None:
        who = f"{who}; with text, for {ROLE_WORDS[command.role_with_args]}"
    where = f", in {command.scope.value}" if command.scope is not Scope.ANYWHERE else ""
    return (
        f"{bold(command.usage)} - {command.help}",
        f"example: {command.example} | for {who}{where}",
    )


def more(request: Request) -> Outcome:
    """The next page of the last long answer here."""
    rest = request.world.pages.pop((request.line.place, request.line.nick), ())
    return Outcome(rest or ("there is no more",))


def ping(request: Request) -> Outcome:
    return Outcome(("pong",))


def version(request: Request) -> Outcome:
    return Outcome((f"Ergonaut {request.world.settings.version}".rstrip(),))
