"""Workers as processes of this machine: a session, a workspace and a lock for each task.

A held lock is a live worker, also for a controller that was killed in between; the lock file holds
the attempt. Workers outlive their controller on purpose.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from controller.spawner import (
    SpawnError,
    WorkerList,
    WorkerRef,
    WorkerSeen,
    WorkerSpec,
    WorkerState,
)
from controller.spawner.locks import LockState, TaskLock
from shared.channels import parse_task_channel
from shared.worker_env import LOCK_FD, SECRETS_FD, WorkerEnv

PROGRAM = (sys.executable, "-I", "-m", "worker")
TERM_SECONDS = 5.0
_POLL_SECONDS = 0.02
_TERMINATED = 128 + signal.SIGTERM
"""Exit code of a worker that took SIGTERM in order."""


@dataclass(frozen=True, slots=True)
class LocalWorkers:
    """What does not change from one start to the next."""

    home: Path
    """ERGONAUT_HOME, absolute; hidden from tools but for the workspace."""
    surroundings: Mapping[str, str]
    """Variables of our own environment that workers keep."""
    program: Sequence[str] = PROGRAM
    term_seconds: float = TERM_SECONDS
    """From SIGTERM to SIGKILL."""


class LocalSpawner:
    """The Spawner of `make run`."""

    def __init__(self, workers: LocalWorkers) -> None:
        self._workers = workers
        self._run = workers.home / "run"
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._causes: dict[tuple[int, int], str] = {}
        self._watched: dict[int, int] = {}
        """pid -> its pidfd."""
        self._changed = asyncio.Event()
        self._locks_in_use = asyncio.Lock()
        """A look at a lock holds it for a moment, which must not fail a start."""

    async def spawn(self, spec: WorkerSpec) -> WorkerRef:
        async with self._locks_in_use:
            ref = await asyncio.to_thread(self._start_or_adopt, spec)
        self._watch(_pid(ref))
        self._changed.set()
        return ref

    async def kill(self, ref: WorkerRef) -> None:
        pid = await asyncio.to_thread(self._lock(ref.task).holder)
        if pid is None or not await self._lives(ref):
            return
        self._causes[ref.task, ref.attempt] = "killed"
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._workers.term_seconds):
                await self._gone(ref)
        with suppress(ProcessLookupError):  # what it started may have outlived it
            os.killpg(pid, signal.SIGKILL)
        await self._gone(ref)

    async def list(self) -> WorkerList:
        async with self._locks_in_use:
            states = await asyncio.to_thread(self._look)
        for state in states:
            if state.held and state.pid is not None:
                self._watch(state.pid)
        return WorkerList(
            workers=tuple(self._seen(state) for state in states if state.attempt is not None),
            complete=all(state.attempt is not None or not state.held for state in states),
            highest_task=await asyncio.to_thread(self._highest_task),
        )

    async def changed(self) -> None:
        await self._changed.wait()
        self._changed.clear()

    def close(self) -> None:
        """Stop watching. The workers go on."""
        for pid in list(self._watched):
            self._unwatch(pid)

    # Starting

    def _start_or_adopt(self, spec: WorkerSpec) -> WorkerRef:
        task, attempt = spec.env.task_id, spec.env.attempt
        lock = self._lock(task)
        try:
            descriptor = lock.take(attempt)
            if descriptor is None:
                return self._adopt(lock, attempt)
            try:
                process = self._start(spec, descriptor)
            finally:
                os.close(descriptor)
            lock.note_pid(process.pid)
        except OSError as error:
            raise SpawnError(f"the worker of task {task} cannot be started: {error}") from error
        self._children[process.pid] = process
        return WorkerRef(task, attempt, f"local-{process.pid}")

    def _adopt(self, lock: TaskLock, attempt: int) -> WorkerRef:
        state = lock.look()
        if state.held and state.attempt == attempt:
            return _ref(state)
        raise SpawnError(
            f"attempt {state.attempt} of task {lock.task} still runs, so {attempt} must wait",
            transient=True,
        )

    def _start(self, spec: WorkerSpec, lock_fd: int) -> subprocess.Popen[bytes]:
        env = self._worker_env(spec.env)
        secrets_fd = _pipe_holding(spec.secrets.to_json())
        try:
            with (self._folder("logs") / f"task-{env.task_id}.log").open("ab") as log:
                return subprocess.Popen(
                    self._workers.program,
                    env=self._environment(env, lock_fd, secrets_fd),
                    cwd=env.state,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=(lock_fd, secrets_fd),
                    start_new_session=True,
                )
        finally:
            os.close(secrets_fd)

    def _worker_env(self, env: WorkerEnv) -> WorkerEnv:
        name = env.task_channel.removeprefix("#")
        return replace(
            env,
            workspace=str(self._folder("workspaces", name)),
            state=str(self._folder("state", name)),
            sandbox_hide=str(self._workers.home),
        )

    def _environment(self, env: WorkerEnv, lock_fd: int, secrets_fd: int) -> dict[str, str]:
        own_home = self._folder("state", env.task_channel.removeprefix("#"), "home")
        descriptors = {LOCK_FD: str(lock_fd), SECRETS_FD: str(secrets_fd)}
        return {**self._workers.surroundings, "HOME": str(own_home), **env.to_env(), **descriptors}

    def _folder(self, *parts: str) -> Path:
        folder = self._workers.home.joinpath(*parts)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    # Looking

    def _lock(self, task: int) -> TaskLock:
        return TaskLock(self._folder("run"), task)

    def _look(self) -> Sequence[LockState]:
        return [lock.look() for lock in TaskLock.all(self._run)]

    def _seen(self, state: LockState) -> WorkerSeen:
        ref = _ref(state)
        if state.held:
            return WorkerSeen(ref, WorkerState.RUNNING)
        return WorkerSeen(ref, WorkerState.ENDED, self._cause(ref))

    def _cause(self, ref: WorkerRef) -> str:
        """How a child of ours ended; "" for a worker of an earlier controller."""
        known = self._causes.get((ref.task, ref.attempt))
        child = self._children.get(_pid(ref))
        if known is None and child is not None and child.poll() is not None:
            known = _cause_of(child.returncode)
            self._causes[ref.task, ref.attempt] = known
        return known or ""

    def _highest_task(self) -> int:
        home = self._workers.home
        names = [p.name for part in ("workspaces", "state") for p in (home / part).glob("*")]
        found = [parse_task_channel(f"#{name}") for name in names]
        numbers = [channel.number for channel in found if channel is not None]
        return max(numbers + [lock.task for lock in TaskLock.all(self._run)], default=0)

    async def _lives(self, ref: WorkerRef) -> bool:
        async with self._locks_in_use:
            state = await asyncio.to_thread(self._lock(ref.task).look)
        return state.held and state.attempt == ref.attempt

    async def _gone(self, ref: WorkerRef) -> None:
        while await self._lives(ref):  # noqa: ASYNC110  (a lock tells nobody that it is free)
            await asyncio.sleep(_POLL_SECONDS)

    # Watching

    def _watch(self, pid: int) -> None:
        """Have `changed` return when this process ends, ours or not."""
        if pid in self._watched or not hasattr(os, "pidfd_open"):
            return
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:  # it has just ended: the next list() says so
            self._changed.set()
            return
        self._watched[pid] = descriptor
        asyncio.get_running_loop().add_reader(descriptor, self._ended, pid)

    def _ended(self, pid: int) -> None:
        self._unwatch(pid)
        child = self._children.get(pid)
        if child is not None:
            child.poll()
        self._changed.set()

    def _unwatch(self, pid: int) -> None:
        descriptor = self._watched.pop(pid)
        asyncio.get_running_loop().remove_reader(descriptor)
        os.close(descriptor)


def _cause_of(returncode: int) -> str:
    """In a word of `worker_exited.reason`; a signal from outside is not the worker's fault."""
    if returncode == 0:
        return "completed"
    return "killed" if returncode < 0 or returncode == _TERMINATED else "error"


def _ref(state: LockState) -> WorkerRef:
    return WorkerRef(state.task, state.attempt or 0, f"local-{state.pid or 0}")


def _pid(ref: WorkerRef) -> int:
    return int(ref.job.removeprefix("local-") or 0)


def _pipe_holding(text: str) -> int:
    """The end to read from. The text is far below what a pipe takes without a reader."""
    reader, writer = os.pipe()
    with os.fdopen(writer, "w", encoding="utf-8") as pipe:
        pipe.write(text)
    return reader
