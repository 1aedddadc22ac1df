"""Reading everything back from a real ergo, past the rows that joins and quits leave."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path

import pytest

from controller.effects import Joined
from controller.firehose_log import FirehoseLog
from controller.history import Gathered, HistoryReader
from controller.rebuild import Need, choose_description
from controller.rooms import Rooms
from controller.roster import Roster
from controller.spawner.local import LocalSpawner, LocalWorkers
from controller.speech import Speech
from controller.writes import PacedWrites
from shared.description import checksum
from shared.directives import DESCRIPTION_TAG, REPLY_TAG
from shared.firehose import Event, decode
from shared.irc_client import history_pages
from shared.ircv3.message import Message
from shared.ircv3.metadata import metadata_set
from tests.support.ergo_server import ErgoServer
from tests.support.irc_peer import Peer, on_irc

Ergos = Callable[[], Awaitable[ErgoServer]]
_EVENTS = 3000


async def _prepare(peer: Peer, *channels: str) -> None:
    async with asyncio.TaskGroup() as group:
        rooms = Rooms(peer.client.request, PacedWrites(peer.client.request, group))
        for channel in ("#tasks", "#agents", "#firehose", *channels):
            await rooms.make(channel)


def _reader(peer: Peer, folder: Path) -> HistoryReader:
    spawner = LocalSpawner(LocalWorkers(folder, {}))
    return HistoryReader(peer.client, spawner, "controller", time.time, 300)


async def _gather(peer: Peer, folder: Path) -> Gathered:
    return await _reader(peer, folder).gather(Roster("controller"))


async def test_three_thousand_events_are_read_whole_between_joins_and_quits(
    private_ergo: Ergos, tmp_path: Path
) -> None:
    ergo = await private_ergo()
    password = await ergo.add_account("controller")
    async with on_irc(ergo, "controller", password, oper=True) as peer:
        await _prepare(peer)
        log = FirehoseLog(peer.client.request, count(1), time.time)
        event = Event("task_completed", "#task-1", None, {"by": "you"})
        for _ in range(30):
            async with on_irc(ergo, "reader") as reader, asyncio.TaskGroup() as group:
                await reader.ask("JOIN", "#firehose")
                for _ in range(_EVENTS // 30):
                    group.create_task(log.publish(event))
        gathered = await _gather(peer, tmp_path)
        backward = [decode(line.text) async for line in history_pages(peer.client, "#firehose")]
    assert [record.id for record in gathered.snapshot.records] == list(range(1, _EVENTS + 1))
    assert backward[::-1] == list(gathered.snapshot.records)


async def test_all_that_the_server_holds_is_gathered(private_ergo: Ergos, tmp_path: Path) -> None:
    ergo = await private_ergo()
    password, alice_password = await ergo.add_account("controller"), await ergo.add_account("alice")
    async with (
        on_irc(ergo, "controller", password, oper=True) as peer,
        on_irc(ergo, "alice", alice_password) as alice,
    ):
        await _prepare(peer, "#task-1", "#task-2", "#other")
        await peer.client.request(metadata_set("#task-1", "status", "ready"))
        await peer.client.request(metadata_set("#task-2", "status", "archived"))
        await peer.ask("TOPIC", "#task-1", "[ready] one")
        for room in ("#tasks", "#task-1", "#task-2"):
            await alice.ask("JOIN", room)
        first = await alice.say("#tasks", "!tasks")
        tags = {REPLY_TAG: first}
        await peer.client.request(Message("NOTICE", ("#tasks", "none"), tags))
        await alice.say("#task-1", "a note")
        await alice.say("#task-2", "!reopen")
        await alice.say("#tasks", "!new more")
        await alice.say("controller", "!tasks")
        gathered = await _gather(peer, tmp_path)
    snapshot = gathered.snapshot
    assert {row.channel: row.topic for row in snapshot.channels} == {
        "#task-1": "[ready] one", "#task-2": "",
    }  # fmt: skip
    assert snapshot.metadata == {
        "#tasks": {}, "#agents": {}, "#task-1": {"status": "ready"},
        "#task-2": {"status": "archived"},
    }  # fmt: skip
    assert snapshot.answered == frozenset({first})
    assert {(line.place, line.text) for line in gathered.missed if not line.live} == {
        ("#tasks", "!tasks"), ("#task-1", "a note"), ("#task-2", "!reopen"), ("alice", "!tasks"),
        ("#tasks", "!new more"),
    }  # fmt: skip
    assert [line.at for line in gathered.missed] == sorted(line.at for line in gathered.missed)
    assert gathered.present == (Joined("#task-1", "alice", "alice", live=False),)


async def test_a_damaged_description_comes_back_from_our_posts_and_nobody_else_s(
    private_ergo: Ergos, tmp_path: Path
) -> None:
    ergo = await private_ergo()
    password, alice_password = await ergo.add_account("controller"), await ergo.add_account("alice")
    text = "line of a long text 🐙\n" * 500
    async with (
        on_irc(ergo, "controller", password, oper=True) as peer,
        on_irc(ergo, "alice", alice_password) as alice,
    ):
        await _prepare(peer, "#task-1")
        await alice.ask("JOIN", "#tasks")
        await alice.ask("JOIN", "#task-1")
        msgid = await alice.say("#tasks", "!new the short form")
        await Speech(peer.client, 350).post_description("#task-1", text)
        await alice.say("#task-1", "forged", {DESCRIPTION_TAG: checksum("forged")})
        need = Need("#task-1", cause=msgid, at="#tasks")
        posts, command = await _reader(peer, tmp_path).description_posts(need)
    assert choose_description(need, posts, command) == text
    assert choose_description(need, (), command) == "the short form"


@pytest.mark.parametrize("mode", ["+i", "+k secret", "+b *!*@*", "+l 1"])
async def test_a_channel_that_an_operator_has_closed_is_read_too(
    private_ergo: Ergos, tmp_path: Path, mode: str
) -> None:
    ergo = await private_ergo()
    password = await ergo.add_account("controller")
    async with (
        on_irc(ergo, "controller", password, oper=True) as peer,
        on_irc(ergo, "root", oper=True) as operator,
    ):
        await _prepare(peer)
        await operator.ask("JOIN", "#task-9")
        await operator.ask("MODE", "#task-9", *mode.split())
        await operator.say("#task-9", "for me alone")
        gathered = await _gather(peer, tmp_path)
    assert [row.channel for row in gathered.snapshot.channels] == ["#task-9"]
