"""The real controller inside the test's process: it can be stopped in any gap, and ends as by
kill -9: nothing is said, nothing is finished.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count

from controller.bot import Bot
from controller.connection import Office
from controller.effects import Job, Publish
from controller.limits import CoreSettings
from controller.spawner import Spawner
from shared.irc_client import ClientConfig, IrcClient
from tests.support.ergo_server import ErgoServer

ACCOUNT = "controller"
SWEEP_SECONDS = 0.05


class Gaps:
    """Counts effects lane by lane, and holds a lane for ever in the gap that is its own.

    A lane is known by the task's channel, or before that exists by the title of the task.
    """

    def __init__(self, hold: Mapping[str, int] | None = None) -> None:
        self.hold = dict(hold or {})
        """Channel or title -> how many effects are done when it stops."""
        self.held: set[str] = set()
        self.jobs: dict[str, list[Job]] = {}
        """Channel or title -> jobs begun since the last `arm`."""
        self._names: dict[str, str] = {}
        self._done: Counter[str] = Counter()
        self._open = 0
        self._changed = asyncio.Event()

    async def __call__(self, job: Job, done: int) -> None:
        name = self._name(job)
        if done == 0:
            self._open += 1
            self.jobs.setdefault(name, []).append(job)
        if self.hold.get(name) == self._done[name] + done:
            self.held.add(name)
            self._changed.set()
            await asyncio.Event().wait()
        if done == len(job.effects):
            self._open -= 1
            self._done[name] += done
            self._changed.set()

    def _name(self, job: Job) -> str:
        for effect in job.effects:
            if isinstance(effect, Publish) and effect.event.kind == "task_created":
                self._names[job.lane] = str(effect.event.fields["title"])
        return self._names.get(job.lane, job.lane)

    def arm(self, hold: Mapping[str, int]) -> None:
        """From now on; what was done before does not count."""
        self.hold = dict(hold)
        self.jobs.clear()
        self._done.clear()

    def effects_of(self, name: str) -> list[str]:
        """What the lane has begun with since `arm`."""
        return [type(effect).__name__ for job in self.jobs[name] for effect in job.effects]

    async def all_held(self, seconds: float = 20.0) -> None:
        await self._until(lambda: self.held == set(self.hold), seconds)

    async def idle(self, seconds: float = 20.0) -> None:
        """No job is under way but those that are held."""
        await self._until(lambda: self._open == len(self.held), seconds)

    async def _until(self, holds: Callable[[], bool], seconds: float) -> None:
        async with asyncio.timeout(seconds):
            while not holds():
                self._changed.clear()
                await self._changed.wait()


@dataclass
class ControllerLife:
    """One controller, from its start to its sudden end."""

    ergo: ErgoServer
    password: str
    spawner: Spawner
    core: CoreSettings
    gaps: Gaps = field(default_factory=Gaps)
    _task: asyncio.Task[None] | None = None

    async def start(self, group: asyncio.TaskGroup) -> None:
        """Return once it is at work."""
        ready = asyncio.Event()
        self._task = group.create_task(self._live(ready.set))
        async with asyncio.timeout(20):
            await ready.wait()

    async def kill(self) -> None:
        """Its connection is closed by the kernel; no QUIT."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _live(self, when_ready: Callable[[], None]) -> None:
        client = IrcClient(
            ClientConfig(
                self.ergo.host,
                self.ergo.port,
                ACCOUNT,
                account=ACCOUNT,
                password=self.password,
                bot=True,
            )
        )
        office = Office(
            client=client,
            spawner=self.spawner,
            core=self.core,
            sweep_seconds=SWEEP_SECONDS,
            secret=self.password,
            oper_password=self.ergo.oper_password,
            anthropic_api_key="",
            clock=time.time,
            event_ids=count(1),
            gap=self.gaps,
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(client.run())
            group.create_task(Bot(office, when_ready).run())
