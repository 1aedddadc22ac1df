"""Calls to the spawner: with the secrets added, and never by a controller that was fenced off."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from controller.effects import Spawned, SpawnFailed
from controller.minting import worker_password
from controller.refusals import Refused
from controller.spawner import Spawner, SpawnError, WorkerRef, WorkerSpec
from shared.irc_client import IrcClient
from shared.ircv3.message import Message
from shared.worker_env import WorkerEnv, WorkerSecrets

STALE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Engine:
    """The spawner, as seen from one connection."""

    spawner: Spawner
    client: IrcClient
    secret: str = field(repr=False)
    """Workers' passwords derive from it."""
    anthropic_api_key: str = field(default="", repr=False)

    async def spawn(self, channel: str, env: WorkerEnv) -> Spawned | SpawnFailed:
        await self._prove_connection()
        password = worker_password(self.secret, env.irc_account, env.task_id, env.attempt)
        secrets = WorkerSecrets(password, self.anthropic_api_key)
        try:
            return Spawned(channel, await self.spawner.spawn(WorkerSpec(env, secrets)))
        except SpawnError as error:
            return SpawnFailed(channel, env.attempt, str(error), error.transient)

    async def kill(self, ref: WorkerRef) -> None:
        await self._prove_connection()
        try:
            await self.spawner.kill(ref)
        except SpawnError as error:
            raise Refused(str(error)) from error

    async def _prove_connection(self) -> None:
        """After a silence (a frozen process, a dead network) another controller may have taken
        over: its fence closes our connection, and then this raises ConnectionLost."""
        now = asyncio.get_running_loop().time()
        if self.client.last_reply_age(now) > STALE_SECONDS:
            await self.client.request(Message("PING", ("still-there",)))
