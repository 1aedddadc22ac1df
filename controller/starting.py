"""Starting workers, and what comes of it: Spawned, SpawnFailed, AccountTaken. Pure."""

from __future__ import annotations

from dataclasses import replace

from controller.effects import (
    AccountTaken,
    Effect,
    Job,
    Say,
    SetMetadata,
    Spawned,
    SpawnFailed,
)
from controller.lifecycle import Along, By, Refusal, apply
from controller.nicks import first_free
from controller.reports import to_requester
from controller.texts import age, next_step, state
from controller.transition import Told, event, move, start_effects, starting
from controller.world import World
from shared.channels import AGENTS, TASKS
from shared.ircv3.casemap import fold
from shared.task import Reason, Run, Status, Task, Why
from shared.task_metadata import changes

FAILURES_UNTIL_WAIT = 3
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 60, 900
FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS = 15, 300


def start(world: World, task: Task, now: float) -> list[Job]:
    """Store the attempt, then make the account and start the worker (design 10)."""
    run = next_run(world, task)
    along = Along(run=run, assignee=run.worker)
    moved = apply(task, Status.IN_PROGRESS, By.DISPATCHER, now, along)
    if isinstance(moved, Refusal):
        return []
    effects = move(world, moved, Told(), now)
    words = f"{task.channel} is in progress: {run.worker} is starting (attempt {run.attempt})"
    return [Job(task.channel, (*effects, Say(task.channel, (words,), notice=True)))]


def next_run(world: World, task: Task) -> Run:
    """A start that came to nothing is tried again with the same attempt."""
    run = task.run
    found = max((row.ref.attempt for row in world.board.rows(task)), default=0)
    unused = run.attempt > found and run.job is None and run.joined is None and run.exited is None
    attempt = run.attempt if unused else 1 + max(run.attempt, found)
    return replace(
        run,
        attempt=attempt,
        worker=worker_name(world, task),
        job=None,
        spawned="agent",
        joined=None,
        exited=None,
    )


def worker_name(world: World, task: Task) -> str:
    """A task keeps the name of its worker; else the first that nobody has."""
    board = world.board
    kept = task.run.worker
    if kept and fold(kept) not in board.pool.claimed:
        return kept
    people = {fold(name) for name in (*world.settings.maintainers, world.settings.account)}
    return first_free(board.names_taken(), board.pool.claimed | people)


def start_again(world: World, task: Task, now: float) -> list[Job]:
    """The attempt is stored and no worker of it was ever seen: the same one again."""
    starting(world.board.live(task.channel), fresh=False, now=now)
    return [Job(task.channel, start_effects(world, task))]


def on_spawned(world: World, spawned: Spawned, now: float) -> list[Job]:
    """The engine has it: its account is ours, its name is kept."""
    task = world.board.get(spawned.channel)
    if task is None or spawned.ref.attempt != task.run.attempt:
        return []
    live = world.board.live(task.channel)
    live.spawning = False
    live.started_at = now
    if live.absent_since is None and live.present_since is None:
        live.absent_since = now
    return adopt(world, task, spawned.ref.job)


def adopt(world: World, task: Task, job: str) -> list[Job]:
    """A worker of the current attempt is there."""
    jobs = listed_name(world, task.run.worker or "")
    if task.run.job != job:
        adopted = replace(task, run=replace(task.run, job=job))
        world.board.put(adopted)
        write = SetMetadata(task.channel, changes(task, adopted))
        jobs.append(Job(task.channel, (write,)))
    return jobs


def listed_name(world: World, account: str) -> list[Job]:
    """List a name that we have registered (design 3), always in the same lane."""
    pool = world.board.pool
    if not account or pool.lists(account):
        return []
    world.board.pool = pool.with_name(account)
    before = pool.to_metadata()
    now_listed = world.board.pool.to_metadata()
    new = {key: value for key, value in now_listed.items() if before.get(key) != value}
    return [Job(AGENTS, (SetMetadata(AGENTS, new),))]


def on_account_taken(world: World, taken: AccountTaken, now: float) -> list[Job]:
    """That name is a person's: never again, and another one for the same attempt."""
    board = world.board
    board.pool = board.pool.with_person(taken.account)
    task = board.get(taken.channel)
    if task is None or taken.attempt != task.run.attempt:
        return []
    live = board.live(task.channel)
    live.spawning = False
    if task.status is not Status.IN_PROGRESS or task.run.worker is None:
        return []
    if fold(task.run.worker) != fold(taken.account):
        return []
    name = worker_name(world, task)
    renamed = replace(task, assignee=name, run=replace(task.run, worker=name))
    board.put(renamed)
    starting(live, fresh=False, now=now)
    effects: tuple[Effect, ...] = (
        event(renamed, "task_assigned", Told(), assignee=name),
        SetMetadata(task.channel, changes(task, renamed)),
        *start_effects(world, renamed),
        Say(task.channel, (f"{task.channel}: {name} is starting instead",), notice=True),
    )
    return [Job(task.channel, effects)]


def on_spawn_failed(world: World, failed: SpawnFailed, now: float) -> list[Job]:
    """For now: back to its place in the queue. For good: blocked, and the requester is told."""
    task = world.board.get(failed.channel)
    if task is None or failed.attempt != task.run.attempt:
        return []
    live = world.board.live(task.channel)
    live.spawning = False
    if task.status is not Status.IN_PROGRESS:
        return []
    if not failed.transient:
        reason = Reason(Why.FAILED, f"no worker could be started: {failed.message}")
        return [*block(world, task, reason, now), *count_failed_start(world, failed.message, now)]
    live.refusals += 1
    wait = min(FIRST_RETRY_SECONDS * 2 ** (live.refusals - 1), LONGEST_RETRY_SECONDS)
    live.retry_at = now + wait
    moved = apply(task, Status.READY, By.CONTROLLER, now)
    if isinstance(moved, Refusal):
        return []
    effects = move(world, moved, Told(), now)
    if live.refusals == 1:
        text = f"{task.channel} keeps its place and is tried again: {failed.message}"
        effects = (*effects, Say(task.channel, (text,), notice=True))
    return [Job(task.channel, effects), *count_failed_start(world, failed.message, now)]


def block(world: World, task: Task, reason: Reason, now: float) -> list[Job]:
    """Nothing more can be done without a person."""
    moved = apply(task, Status.BLOCKED, By.CONTROLLER, now, Along(reason=reason))
    if isinstance(moved, Refusal):
        return []
    effects = move(world, moved, Told(), now)
    text = f"{task.channel} is {state(moved.task)}; {next_step(moved.task)}"
    return [Job(task.channel, (*effects, to_requester(world, moved.task, text)))]


def count_failed_start(world: World, cause: str, now: float) -> list[Job]:
    """Three in a row: dispatch waits, longer each time, until one succeeds."""
    board = world.board
    if now < board.dispatch_after:
        return []
    board.failed_starts += 1
    over = board.failed_starts - FAILURES_UNTIL_WAIT
    if over < 0:
        return []
    wait = min(FIRST_WAIT_SECONDS * 2**over, LONGEST_WAIT_SECONDS)
    board.dispatch_after = now + wait
    text = f"no task is started for {age(wait)}: {board.failed_starts} starts in a row failed"
    return [Job(TASKS, (Say(TASKS, (f"{text}; the last one: {cause}",), notice=True),))]
