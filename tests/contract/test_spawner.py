"""What every engine must do. The worker is a script that holds the lock as the real one does."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from controller.spawner import SpawnError, WorkerRef, WorkerSeen, WorkerSpec, WorkerState
from controller.spawner.local import LocalSpawner, LocalWorkers
from shared.worker_env import WorkerEnv, WorkerSecrets
from tests.support.until import until

_WORKER = """
import json, os, signal, subprocess, sys, time
lock, secrets = int(os.environ["LOCK_FD"]), int(os.environ["SECRETS_FD"])
os.set_inheritable(lock, False)
os.pwrite(lock, b"%d\\n" % os.getpid(), os.fstat(lock).st_size)
told = os.fdopen(secrets).read()
how, _, number = os.environ["TASK_DESCRIPTION"].partition(" ")
if how == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "60"]) if how == "family" else None
report = {"env": dict(os.environ), "secrets": json.loads(told), "child": child and child.pid}
draft = os.path.join(os.environ["STATE"], "draft")
with open(draft, "w") as file:
    json.dump(report, file)
os.rename(draft, os.path.join(os.environ["STATE"], "report"))
if how == "exit":
    sys.exit(int(number))
if how == "die":
    os.kill(os.getpid(), int(number))
time.sleep(60)
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path


def _engine(home: Path) -> LocalSpawner:
    program = (sys.executable, "-I", "-c", _WORKER)
    return LocalSpawner(LocalWorkers(home, {"PATH": os.environ["PATH"]}, program, 0.3))


@pytest.fixture
async def spawner(home: Path) -> AsyncIterator[LocalSpawner]:
    engine = _engine(home)
    yield engine
    for seen in (await engine.list()).workers:
        await engine.kill(seen.ref)
    engine.close()


def _spec(how: str = "work", *, task: int = 7, attempt: int = 1) -> WorkerSpec:
    env = WorkerEnv(
        task_id=task,
        task_channel=f"#task-{task}",
        task_description=how,
        attempt=attempt,
        protocol=1,
        workspace="",
        state="",
        worker_model="m",
        irc_host="localhost",
        irc_port=6667,
        irc_account="HAL-9000",
        controller_account="controller",
        agent_idle_exit_seconds=1,
        agent_memory_lines=1,
        agent_max_turns=1,
        budget_usd=1.0,
        job_active_deadline_seconds=1,
        requester="you",
    )
    return WorkerSpec(env, WorkerSecrets(irc_password="hush-hush"))


async def _report(home: Path, task: int = 7) -> dict[str, dict[str, str]]:
    path = home / "state" / f"task-{task}" / "report"
    await until(path.exists)
    found: dict[str, dict[str, str]] = json.loads(path.read_text())
    return found


async def _ended(spawner: LocalSpawner) -> WorkerSeen:
    async with asyncio.timeout(10):
        while True:
            (seen,) = (await spawner.list()).workers
            if seen.state is WorkerState.ENDED:
                return seen
            await spawner.changed()


async def test_a_started_worker_is_listed_as_running(spawner: LocalSpawner) -> None:
    ref = await spawner.spawn(_spec())
    found = await spawner.list()
    assert found.workers == (WorkerSeen(ref, WorkerState.RUNNING),)
    assert (found.complete, found.highest_task) == (True, 7)


async def test_a_worker_reads_back_its_environment_and_secrets(
    spawner: LocalSpawner, home: Path
) -> None:
    spec = _spec()
    await spawner.spawn(spec)
    report = await _report(home)
    assert WorkerEnv.from_env(report["env"]) == replace(
        spec.env,
        workspace=str(home / "workspaces" / "task-7"),
        state=str(home / "state" / "task-7"),
        sandbox_hide=str(home),
    )
    assert report["secrets"]["irc_password"] == "hush-hush"
    assert "hush-hush" not in report["env"].values()


async def test_a_second_start_of_the_same_attempt_adopts(spawner: LocalSpawner) -> None:
    first = await spawner.spawn(_spec())
    assert await spawner.spawn(_spec()) == first


async def test_another_attempt_waits_while_one_lives(spawner: LocalSpawner) -> None:
    await spawner.spawn(_spec())
    with pytest.raises(SpawnError, match="attempt 1 of task 7 still runs") as refusal:
        await spawner.spawn(_spec(attempt=2))
    assert refusal.value.transient


@pytest.mark.parametrize(
    ("how", "cause"),
    [
        ("exit 0", "completed"),
        ("exit 3", "error"),
        pytest.param("exit 143", "killed", id="SIGTERM from outside, in order"),
        pytest.param("die 9", "killed", id="SIGKILL from outside"),
    ],
)
async def test_an_end_is_told_at_once_and_with_its_cause(
    spawner: LocalSpawner, how: str, cause: str
) -> None:
    ref = await spawner.spawn(_spec(how))
    assert await _ended(spawner) == WorkerSeen(ref, WorkerState.ENDED, cause)


async def test_after_the_end_the_next_attempt_may_start(spawner: LocalSpawner) -> None:
    await spawner.spawn(_spec("exit 3"))
    await _ended(spawner)
    ref = await spawner.spawn(_spec(attempt=2))
    assert (await spawner.list()).workers == (WorkerSeen(ref, WorkerState.RUNNING),)


@pytest.mark.parametrize("how", ["work", "stubborn"])
async def test_a_killed_worker_is_gone_when_kill_returns(
    spawner: LocalSpawner, home: Path, how: str
) -> None:
    ref = await spawner.spawn(_spec(how))
    await _report(home)
    await spawner.kill(ref)
    assert (await spawner.list()).workers == (WorkerSeen(ref, WorkerState.ENDED, "killed"),)


async def test_kill_takes_what_the_worker_started(spawner: LocalSpawner, home: Path) -> None:
    ref = await spawner.spawn(_spec("family"))
    child = int(str((await _report(home))["child"]))
    assert _runs(child)
    await spawner.kill(ref)
    await until(lambda: not _runs(child))


def _runs(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


async def test_kill_of_an_older_attempt_spares_the_present_one(spawner: LocalSpawner) -> None:
    ref = await spawner.spawn(_spec(attempt=2))
    await spawner.kill(WorkerRef(7, 1, ref.job))
    assert (await spawner.list()).workers == (WorkerSeen(ref, WorkerState.RUNNING),)


async def test_the_next_controller_finds_watches_and_ends_the_worker(
    spawner: LocalSpawner, home: Path
) -> None:
    ref = await spawner.spawn(_spec())
    await _report(home)
    (home / "run" / "task-7.pid").unlink()  # as if killed before it was noted
    successor = _engine(home)
    assert (await successor.list()).workers == (WorkerSeen(ref, WorkerState.RUNNING),)
    assert await successor.spawn(_spec()) == ref
    os.kill(int(ref.job.removeprefix("local-")), signal.SIGKILL)
    seen = await _ended(successor)
    successor.close()
    assert (seen.ref.task, seen.ref.attempt, seen.cause) == (7, 1, "")


async def test_a_lock_without_its_attempt_makes_the_list_incomplete(
    spawner: LocalSpawner, home: Path
) -> None:
    await spawner.spawn(_spec())
    (home / "run" / "task-7.lock").write_text("")
    found = await spawner.list()
    assert (found.workers, found.complete, found.highest_task) == ((), False, 7)
    (home / "run" / "task-7.lock").write_text("1\n")


async def test_a_workspace_alone_is_a_witness_of_its_number(
    spawner: LocalSpawner, home: Path
) -> None:
    (home / "workspaces" / "web-task-41").mkdir(parents=True)
    assert (await spawner.list()).highest_task == 41


async def test_a_program_that_is_not_there_is_a_refusal(home: Path) -> None:
    engine = LocalSpawner(LocalWorkers(home, {}, (str(home / "nothing"),)))
    with pytest.raises(SpawnError, match="task 7 cannot be started"):
        await engine.spawn(_spec())
    engine.close()
