"""A room on the real server for tests of the worker: a stand-in for the controller, a person, and
real worker processes between them.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from shared.description import checksum
from shared.directives import (
    CONTROL_TAG,
    DESCRIPTION_TAG,
    PROTOCOL,
    REPLY_TAG,
    ToWorker,
    format_to_worker,
)
from shared.irc_client import ClientConfig, Connected, IrcClient, Received
from shared.ircv3.batch import MultilineLimits, multiline_lines
from shared.ircv3.message import Message
from shared.worker_env import SECRETS_FD, WorkerEnv, WorkerSecrets
from tests.support.ergo_server import ErgoServer

TASK = 5
WAIT_SECONDS = 15.0


class Listener:
    """A client that remembers what it saw."""

    def __init__(self, server: ErgoServer, account: str, password: str) -> None:
        config = ClientConfig(server.host, server.port, account, account=account, password=password)
        self.client = IrcClient(config)
        self.account = account
        self.seen: list[Message] = []
        self._changed = asyncio.Condition()
        self._online = asyncio.Event()

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.client.run())
            listening = group.create_task(self._listen())
            await self._online.wait()
            try:
                yield
            finally:
                await self.client.close()
                listening.cancel()

    async def until(self, found: Callable[[Message], bool], after: int = 0) -> Message:
        """The first message from position `after` on that fits, when it comes."""
        place = after
        async with asyncio.timeout(WAIT_SECONDS), self._changed:
            while True:
                while place < len(self.seen):
                    if found(self.seen[place]):
                        return self.seen[place]
                    place += 1
                await self._changed.wait()

    async def say(self, channel: str, text: str, **tags: str) -> str:
        """Say something; its msgid."""
        named = {f"+{key.replace('__', '/')}": value for key, value in tags.items()}
        reply = await self.client.request(Message("PRIVMSG", (channel, text), named))
        assert reply.error is None, reply.error
        return reply.messages[0].tags["msgid"]

    async def ask(self, command: str, *params: str) -> None:
        reply = await self.client.request(Message(command, params))
        assert reply.error is None, reply.error

    async def _listen(self) -> None:
        while True:
            event = await self.client.events.get()
            if isinstance(event, Connected):
                self._online.set()
            if isinstance(event, Received):
                self.notice(event.message)
                async with self._changed:
                    self.seen.append(event.message)
                    self._changed.notify_all()

    def notice(self, message: Message) -> None:
        """For who reacts."""


class StandInController(Listener):
    """Owns the channel, and confirms directives as long as it is `answering`."""

    def __init__(self, server: ErgoServer, account: str, password: str) -> None:
        super().__init__(server, account, password)
        self.answering = True
        self.worker = ""
        """Whose directives count."""
        self.attempt = 1
        self.directives: list[str] = []
        """`<tag> <text>` of each, repeats left out."""
        self._seq = 1000

    def notice(self, message: Message) -> None:
        tag = message.tags.get(CONTROL_TAG)
        if message.command != "PRIVMSG" or tag is None or message.nick != self.worker:
            return
        told = f"{tag} {message.text}"
        if told not in self.directives:
            self.directives.append(told)
        if self.answering:
            answer = {REPLY_TAG: message.tags["msgid"]}
            self.client.send(Message("TAGMSG", (message.nick,), answer))

    async def own(self, server: ErgoServer, channel: str, title: str, description: str) -> None:
        await self.ask("OPER", server.oper_name, server.oper_password)
        await self.ask("JOIN", channel)
        await self.ask("CS", "REGISTER", channel)
        await self.ask("TOPIC", channel, f"[in_progress] {title}")
        await self.describe(channel, description)

    async def describe(self, channel: str, text: str) -> None:
        tags = {DESCRIPTION_TAG: checksum(text)}
        lines = multiline_lines(channel, text, tags, "d", MultilineLimits())
        await self.client.request_lines(lines)

    async def direct(self, worker: str, directive: ToWorker, cause: str | None = None) -> str:
        """Send a directive and wait for its confirmation, a TAGMSG or a NOTICE; its command."""
        self._seq += 1
        tags = {CONTROL_TAG: f"{TASK}.{self.attempt}.{self._seq}"}
        if cause:
            tags[REPLY_TAG] = cause
        place = len(self.seen)
        text = format_to_worker(directive)
        reply = await self.client.request(Message("PRIVMSG", (worker, text), tags))
        assert reply.error is None, reply.error
        msgid = reply.messages[0].tags["msgid"]
        answer = await self.until(lambda m: m.tags.get(REPLY_TAG) == msgid, place)
        return answer.command


@dataclass
class Stage:
    """One task, ready for a worker."""

    server: ErgoServer
    controller: StandInController
    alice: Listener
    """The requester, in the room."""
    channel: str
    env: WorkerEnv
    secrets: WorkerSecrets
    stack: AsyncExitStack

    @property
    def worker(self) -> str:
        return self.env.irc_account

    @property
    def workspace(self) -> Path:
        return Path(self.env.workspace)

    async def start_worker(
        self, *, path: str = os.environ["PATH"], fault: str = "", **changes: object
    ) -> asyncio.subprocess.Process:
        """As the local spawner does it; ended with the stage, if it has not ended by then.

        `fault` = Python that runs before the worker does, to break something in it.
        """
        env = replace(self.env, **changes)  # type: ignore[arg-type]
        reader, writer = os.pipe()
        os.write(writer, self.secrets.to_json().encode())
        os.close(writer)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", *_program(fault)),
            env={"PATH": path, SECRETS_FD: str(reader), **env.to_env()},
            pass_fds=(reader,),
            start_new_session=True,
        )
        os.close(reader)
        self.stack.push_async_callback(_end, process)
        return process

    def is_said(self, text: str) -> Callable[[Message], bool]:
        """By the worker, in the room."""
        return lambda m: (
            m.tags.get("account") == self.worker and m.params[0] == self.channel and text in m.text
        )

    def told(self) -> list[str]:
        """Texts of the worker's directives so far, without their numbers."""
        return [text.partition(" ")[2] for text in self.controller.directives]


def _program(fault: str) -> tuple[str, str]:
    if not fault:
        return ("-m", "worker")
    return ("-c", f"{fault}\nimport sys\nfrom worker.__main__ import main\nsys.exit(main())")


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()


@asynccontextmanager
async def stage(
    server: ErgoServer, unique: str, home: Path, description: str
) -> AsyncIterator[Stage]:
    channel = f"#{unique}-task-{TASK}"
    names = {role: f"{role}{unique}" for role in ("ctl", "alice", "hal")}
    passwords = {role: await server.add_account(name) for role, name in names.items()}
    async with AsyncExitStack() as stack:
        controller = StandInController(server, names["ctl"], passwords["ctl"])
        alice = Listener(server, names["alice"], passwords["alice"])
        for listener in (controller, alice):
            await stack.enter_async_context(listener.connected())
        controller.worker = names["hal"]
        await controller.own(server, channel, "Write a greeting", description)
        await alice.ask("JOIN", channel)
        env = WorkerEnv(
            task_id=TASK,
            task_channel=channel,
            task_description=description,
            attempt=1,
            protocol=PROTOCOL,
            workspace=str(home / "workspace"),
            state=str(home / "state"),
            model="rehearsal",
            worker_model="none",
            sandbox="none",
            irc_host=server.host,
            irc_port=server.port,
            irc_account=names["hal"],
            controller_account=names["ctl"],
            agent_idle_exit_seconds=1800,
            agent_memory_lines=100,
            agent_max_turns=200,
            budget_usd=10,
            job_active_deadline_seconds=3600,
            requester=names["alice"],
        )
        secrets = WorkerSecrets(irc_password=passwords["hal"])
        yield Stage(server, controller, alice, channel, env, secrets, stack)
