"""An engine whose workers only keep the control lane: they join, report, confirm, and leave.

It outlives controllers, as a cluster does, and counts its starts.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace

from controller.spawner import (
    SpawnError,
    WorkerList,
    WorkerRef,
    WorkerSeen,
    WorkerSpec,
    WorkerState,
)
from shared.directives import (
    CONTROL_TAG,
    REPLY_TAG,
    ControlTag,
    Leave,
    parse_control_tag,
    parse_to_worker,
)
from shared.irc_client import ClientConfig, Connected, IrcClient, Received
from shared.ircv3.message import Message
from shared.outbox import Inbox, Outbox

_PAUSE_SECONDS = 0.02  # while it is not connected
Key = tuple[int, int]
"""(N, attempt)"""


@dataclass
class ScriptedWorker:
    """One attempt: what it is told to report goes out until it is confirmed."""

    spec: WorkerSpec
    host: str
    port: int
    carried_out: list[str] = field(default_factory=list)
    """Kinds of the controller's directives; each (kind, msgid) once."""
    refused: list[str] = field(default_factory=list)
    task: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        env = self.spec.env
        self._client = IrcClient(
            ClientConfig(
                self.host,
                self.port,
                env.irc_account,
                account=env.irc_account,
                password=self.spec.secrets.irc_password,
                bot=True,
            )
        )
        self._outbox = Outbox()
        self._inbox = Inbox()
        self._woken = asyncio.Event()
        self._orders: set[tuple[str, str | None]] = set()

    def report(self, text: str) -> None:
        self._outbox.put(text)
        self._woken.set()

    async def run(self) -> None:
        """Until it is told to leave, or cancelled."""
        async with asyncio.TaskGroup() as group:
            duties = [group.create_task(self._client.run()), group.create_task(self._send())]
            await self._listen()
            await self._client.close("leaving")
            for duty in duties:
                duty.cancel()

    async def _send(self) -> None:
        env = self.spec.env
        loop = asyncio.get_running_loop()
        while True:
            entry = self._outbox.due(loop.time()) if self._client.connected else None
            if entry is not None:
                tag = str(ControlTag(env.task_id, env.attempt, entry.seq))
                line = Message("PRIVMSG", (env.task_channel, entry.text), {CONTROL_TAG: tag})
                reply = await self._client.request(line)
                entry.msgids.update(m.tags["msgid"] for m in reply.messages if "msgid" in m.tags)
                continue
            self._woken.clear()
            due = self._outbox.next_at()
            try:
                at = None if due is None else max(due, loop.time() + _PAUSE_SECONDS)
                async with asyncio.timeout_at(at):
                    await self._woken.wait()
            except TimeoutError:
                continue

    async def _listen(self) -> None:
        while True:
            match await self._client.events.get():
                case Connected():
                    join = Message("JOIN", (self.spec.env.task_channel,))
                    await self._client.request(join)
                case Received(message):
                    if self._take(message):
                        return
                case _:
                    pass

    def _take(self, message: Message) -> bool:
        """True = it leaves."""
        if message.nick != self.spec.env.controller_account:
            return False
        answered = message.tags.get(REPLY_TAG)
        tag = parse_control_tag(message.tags.get(CONTROL_TAG, ""))
        if message.command == "JOIN":
            self._outbox.hurry()
            self._woken.set()
        elif message.command in ("TAGMSG", "NOTICE") and answered is not None:
            if message.command == "NOTICE":
                self.refused.append(message.text)
            self._outbox.confirmed(answered)
            self._woken.set()
        elif message.command == "PRIVMSG" and tag is not None:
            return self._obey(message, tag)
        return False

    def _obey(self, message: Message, tag: ControlTag) -> bool:
        env = self.spec.env
        if (tag.task, tag.attempt) != (env.task_id, env.attempt):
            return False
        confirmation = {REPLY_TAG: message.tags["msgid"]}
        self._client.send(Message("TAGMSG", (message.nick,), confirmation))
        if not self._inbox.take(tag.seq):
            return False
        directive = parse_to_worker(message.text)
        order = type(directive).__name__, message.tags.get(REPLY_TAG)
        if order[1] is None or order not in self._orders:
            self.carried_out.append(order[0])
        self._orders.add(order)
        return isinstance(directive, Leave)


class ScriptedEngine:
    """Honours `Spawner`."""

    def __init__(self, host: str, port: int, group: asyncio.TaskGroup) -> None:
        self._address = host, port
        self._group = group
        self._rows: dict[Key, WorkerSeen] = {}
        self._changed = asyncio.Event()
        self.workers: dict[Key, ScriptedWorker] = {}
        self.starts: Counter[Key] = Counter()
        self.doubled: list[Key] = []
        """Starts beside a living worker of the same task."""
        self.lists = 0
        """How often it was asked for its workers: once in each sweep."""

    async def spawn(self, spec: WorkerSpec) -> WorkerRef:
        key = spec.env.task_id, spec.env.attempt
        row = self._rows.get(key)
        if row is not None and row.state is not WorkerState.ENDED:
            return row.ref
        if row is not None:
            raise SpawnError(f"attempt {key} was started before and has ended")
        if any(task == key[0] and self._alive((task, n)) for task, n in self._rows):
            self.doubled.append(key)
        self.starts[key] += 1
        ref = WorkerRef(*key, job=f"job-{key[0]}-{key[1]}")
        self._rows[key] = WorkerSeen(ref, WorkerState.RUNNING)
        worker = self.workers[key] = ScriptedWorker(spec, *self._address)
        worker.task = self._group.create_task(self._serve(key, worker))
        self._changed.set()
        return ref

    async def _serve(self, key: Key, worker: ScriptedWorker) -> None:
        await worker.run()
        self.end(key, "completed")

    async def kill(self, ref: WorkerRef) -> None:
        self.end((ref.task, ref.attempt), "killed")

    def end(self, key: Key, cause: str) -> None:
        """As if it had ended so; harmless when it has ended already."""
        row = self._rows.get(key)
        if row is None or row.state is WorkerState.ENDED:
            return
        self._rows[key] = replace(row, state=WorkerState.ENDED, cause=cause)
        task = self.workers[key].task
        if task is not None:
            task.cancel()
        self._changed.set()

    async def list(self) -> WorkerList:
        self.lists += 1
        highest = max((task for task, _ in self._rows), default=0)
        return WorkerList(tuple(self._rows.values()), complete=True, highest_task=highest)

    async def changed(self) -> None:
        await self._changed.wait()
        self._changed.clear()

    def alive(self, number: int) -> tuple[Key, ...]:
        return tuple(key for key in self._rows if key[0] == number and self._alive(key))

    def _alive(self, key: Key) -> bool:
        return self._rows[key].state is not WorkerState.ENDED
