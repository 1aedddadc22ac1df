"""Short scenes that aim at one rule each; the ledger judges them like a whole campaign."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from controller.errors import AnotherController
from shared.channels import FIREHOSE, TASKS
from shared.ircv3.message import Message
from tests.chaos.evidence import Evidence, gather
from tests.chaos.parts import PROGRAM, SETTINGS, Parts, parts_running
from tests.chaos.people import Person
from tests.chaos.script import OWNERS
from tests.chaos.verdict import Verdict, judge
from tests.chaos.watch import Watch

REST_SECONDS = 4.0
LONG_TEXT = "\n".join(f"line {n}: Prüfe den 🛒 im «Checkout»" for n in range(90))
"""Its state takes most of a second to be written: many pieces, each 50 ms after the last."""


@dataclass(frozen=True)
class Scene:
    """A running system with one person who speaks."""

    parts: Parts
    watch: Watch
    alice: Person

    async def evidence(self) -> Evidence:
        return await gather(self.parts, self.watch, [self.alice])

    async def answered(self, target: str, text: str) -> str:
        msgid = await self.alice.say(target, text)
        await self.watch.until(lambda seen: msgid in seen.answers, 20)
        return msgid

    async def new(self, text: str) -> str:
        """The room."""
        return self.watch.seen.created[await self.answered(TASKS, f"!new {text}")]

    async def restart(self) -> None:
        """kill -9, and again as the supervisor does it."""
        os.kill(self.parts.controller.pid, signal.SIGKILL)
        await self.parts.controller.wait()
        await self.parts.controller.start()

    async def verdict(self, seconds: float = REST_SECONDS) -> Verdict:
        """Once it is clean, or time is up."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + seconds
        while True:
            verdict = judge(await self.evidence(), [])
            if verdict.clean or loop.time() > ends_at:
                return verdict
            await asyncio.sleep(0.5)


@asynccontextmanager
async def scene(
    binary: Path, root: Path, program: tuple[str, ...] = PROGRAM, **settings: str
) -> AsyncIterator[Scene]:
    """Nothing is started again here but what the scene starts."""
    async with parts_running(binary, root, program, {**SETTINGS, **settings}) as parts:
        watch = Watch(parts.address)
        name = OWNERS[0]
        alice = Person.of(name, await parts.add_account(name), parts.address, watch)
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(watch.run()), group.create_task(alice.run())]
            try:
                yield Scene(parts, watch, alice)
            finally:
                for task in running:
                    task.cancel()


async def killed_at_a_state_write(stage: Scene) -> Verdict:
    """The log comes first: what METADATA says after a crash, the log says too."""
    for _ in range(2):
        room = await stage.new("say hello")
        await stage.alice.say(room, "!ready")
        await stage.watch.next_line(lambda m: "ready" in m.params and _is_state(m), 5)
        await stage.restart()
    return await stage.verdict()


async def killed_while_a_slow_command_is_open(stage: Scene) -> Verdict:
    """The watermark waits for it, although a later command was dealt with."""
    room = await stage.new("a draft")
    for version in range(8):
        await stage.alice.say(room, f"!desc {LONG_TEXT.replace('line', f'{version}:')}")
    await asyncio.sleep(1.3)  # what is read back again overlaps by one second
    await stage.answered(TASKS, "!ping")
    await stage.watch.next_line(lambda m: "watermark" in m.params, 2.0)
    await stage.restart()
    return await stage.verdict()


@dataclass(frozen=True, slots=True)
class Thawed:
    """What became of a controller that was frozen, replaced and continued."""

    verdict: Verdict
    exit_code: int | None
    """None = it went on."""
    changed: bool
    """Something on the server differs from before it was continued."""

    @property
    def good(self) -> bool:
        refused = self.exit_code == AnotherController.exit_code
        return self.verdict.clean and refused and not self.changed


async def frozen_beside_a_replacement(stage: Scene, seconds: float) -> Thawed:
    """Stopped in the middle of a command; what people said meanwhile lies in its socket."""
    room = await stage.new("run sleep 1\nwrite out.txt: x")
    await stage.alice.say(room, "!ready")
    await stage.watch.next_line(_is_event, 5)
    os.kill(stage.parts.controller.pid, signal.SIGSTOP)
    replacement = stage.parts.replacement()
    try:
        started = asyncio.get_running_loop().time()
        await replacement.start()
        await stage.answered(room, "!status")
        await stage.new("another one")
        await stage.watch.until(lambda seen: seen.status.get(room) == "for_review", 30)
        await stage.answered(room, "!complete")
        await stage.verdict()
        await asyncio.sleep(max(0.0, started + seconds - asyncio.get_running_loop().time()))
        return await _thaw(stage)
    finally:
        await replacement.stop()


async def _thaw(stage: Scene) -> Thawed:
    before = await stage.evidence()
    os.kill(stage.parts.controller.pid, signal.SIGCONT)
    code: int | None = None
    with suppress(TimeoutError):
        async with asyncio.timeout(REST_SECONDS):
            code = await stage.parts.controller.wait()
    after = await stage.evidence()
    return Thawed(await stage.verdict(0.0), code, _ledger(before) != _ledger(after))


def _ledger(evidence: Evidence) -> object:
    """All that a controller could have changed; comings and goings of people are no change."""
    return (
        {n: (r.topic, r.metadata, r.modes, _said(r.lines)) for n, r in evidence.rooms.items()},
        evidence.records,
        _said(evidence.control),
        evidence.tasks_metadata,
        evidence.workers,
    )


def _said(lines: tuple[Message, ...]) -> list[str]:
    return [m.tags["msgid"] for m in lines if m.command in ("PRIVMSG", "NOTICE")]


def _is_event(message: Message) -> bool:
    return message.command == "PRIVMSG" and message.params[0] == FIREHOSE


def _is_state(message: Message) -> bool:
    return message.command in ("METADATA", "761")
