"""Directives to a worker on a real ergo: repeated until confirmed, by the right account only."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from controller.directive_desk import DirectiveDesk
from controller.effects import Direct, Unconfirmed
from controller.spawner import WorkerList
from shared.directives import CONTROL_TAG, REPLY_TAG, Resume, Stop, parse_control_tag
from shared.irc_client import Received
from shared.ircv3.message import Message
from tests.support.ergo_server import ErgoServer
from tests.support.irc_peer import Peer, on_irc


@dataclass
class Office:
    """A desk whose connection hears confirmations, as the controller's does."""

    peer: Peer
    desk: DirectiveDesk
    worker: str
    unconfirmed: list[Unconfirmed] = field(default_factory=list)

    def stop(self, cause: str | None = None) -> Direct:
        return Direct("#task-7", 7, 2, self.worker, Stop("you"), cause)


@asynccontextmanager
async def _office(ergo: ErgoServer, unique: str) -> AsyncIterator[Office]:
    password = await ergo.add_account(unique)
    async with on_irc(ergo, unique, password, oper=True) as peer, asyncio.TaskGroup() as group:
        unconfirmed: list[Unconfirmed] = []
        desk = DirectiveDesk(peer.client.request, group, unconfirmed.append, time.time)
        listening = group.create_task(_listen(peer, desk))
        yield Office(peer, desk, f"{unique}w", unconfirmed)
        listening.cancel()
        desk.forget_ended(WorkerList((), complete=True), time.time())


async def _listen(peer: Peer, desk: DirectiveDesk) -> None:
    while True:
        event = await peer.client.events.get()
        if isinstance(event, Received) and event.message.command in ("TAGMSG", "NOTICE"):
            desk.confirmation(event.message)


def _is_directive(message: Message) -> bool:
    return message.command == "PRIVMSG" and CONTROL_TAG in message.tags


async def _confirm(peer: Peer, target: str, msgid: str) -> None:
    await peer.client.request(Message("TAGMSG", (target,), {REPLY_TAG: msgid}))


async def test_a_directive_arrives_tagged_and_is_done_when_confirmed(
    ergo: ErgoServer, unique: str
) -> None:
    worker_password = await ergo.add_account(f"{unique}w")
    async with (
        _office(ergo, unique) as office,
        on_irc(ergo, office.worker, worker_password) as worker,
        asyncio.TaskGroup() as group,
    ):
        answer = group.create_task(office.desk.direct(office.stop(cause="abc")))
        line = await worker.hears(_is_directive)
        tag = parse_control_tag(line.tags[CONTROL_TAG])
        assert tag is not None
        assert (line.text, tag.task, tag.attempt, line.tags[REPLY_TAG]) == (
            "[stop] you", 7, 2, "abc",
        )  # fmt: skip
        await _confirm(worker, unique, line.tags["msgid"])
        assert await answer
        assert office.unconfirmed == []


async def test_it_is_repeated_with_its_number_and_only_its_worker_can_confirm(
    ergo: ErgoServer, unique: str
) -> None:
    worker_password = await ergo.add_account(f"{unique}w")
    other_password = await ergo.add_account(f"{unique}o")
    async with (
        _office(ergo, unique) as office,
        on_irc(ergo, office.worker, worker_password) as worker,
        on_irc(ergo, f"{unique}o", other_password) as other,
        asyncio.TaskGroup() as group,
    ):
        answer = group.create_task(office.desk.direct(office.stop()))
        first = await worker.hears(_is_directive)
        await _confirm(other, unique, first.tags["msgid"])
        second = await worker.hears(_is_directive)
        assert second.tags[CONTROL_TAG] == first.tags[CONTROL_TAG]
        await _confirm(worker, unique, first.tags["msgid"])  # late, of the first time
        assert await answer


async def test_what_nobody_confirms_is_told_and_sent_at_once_when_the_worker_joins(
    ergo: ErgoServer, unique: str
) -> None:
    worker_password = await ergo.add_account(f"{unique}w")
    async with _office(ergo, unique) as office:
        assert not await office.desk.direct(office.stop(), confirm_seconds=0.2)
        assert office.unconfirmed == [Unconfirmed("#task-7", 2, Stop("you"))]
        async with on_irc(ergo, office.worker, worker_password) as worker:
            office.desk.joined(office.worker)
            line = await worker.hears(_is_directive, seconds=1.0)
            await _confirm(worker, unique, line.tags["msgid"])


async def test_the_second_directive_waits_for_the_first(ergo: ErgoServer, unique: str) -> None:
    worker_password = await ergo.add_account(f"{unique}w")
    async with (
        _office(ergo, unique) as office,
        on_irc(ergo, office.worker, worker_password) as worker,
        asyncio.TaskGroup() as group,
    ):
        group.create_task(office.desk.direct(office.stop()))
        resume = Direct("#task-7", 7, 2, office.worker, Resume("go"))
        second = group.create_task(office.desk.direct(resume))
        first_line = await worker.hears(_is_directive)
        with suppress(TimeoutError):
            early = await worker.hears(lambda m: m.text == "[resume] go", seconds=0.3)
            raise AssertionError(early)
        await _confirm(worker, unique, first_line.tags["msgid"])
        line = await worker.hears(lambda m: m.text == "[resume] go", seconds=1.0)
        await _confirm(worker, unique, line.tags["msgid"])
        assert await second


async def test_a_refusal_ends_the_repeating_too(ergo: ErgoServer, unique: str) -> None:
    worker_password = await ergo.add_account(f"{unique}w")
    async with (
        _office(ergo, unique) as office,
        on_irc(ergo, office.worker, worker_password) as worker,
        asyncio.TaskGroup() as group,
    ):
        answer = group.create_task(office.desk.direct(office.stop()))
        line = await worker.hears(_is_directive)
        tags = {REPLY_TAG: line.tags["msgid"]}
        await worker.client.request(Message("NOTICE", (unique, "I do not know that"), tags))
        assert await answer
