"""The controller's hands on a real ergo: rooms, paced writes, accounts, descriptions, checks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from controller.description_posts import to_posts
from controller.effects import MintAccount
from controller.errors import StartRefused
from controller.local import ergo_config
from controller.local.ergo_config import OPER_CAPABILITIES
from controller.minting import NameTaken, mint, worker_password
from controller.rooms import Rooms
from controller.speech import Speech
from controller.start_checks import (
    become_operator,
    require_caps,
    require_lasting_history,
    require_metadata_right,
    require_service_rights,
)
from controller.write_schedule import PAUSE_SECONDS, metadata_write, topic_write
from controller.writes import PacedWrites
from shared.description import checksum
from shared.directives import DESCRIPTION_TAG
from shared.irc_client import LoginRefused, Reply, history_pages
from shared.ircv3.batch import MultilineLimits
from shared.ircv3.message import Message
from shared.ircv3.metadata import metadata_list, parse_metadata
from tests.support.ergo_server import ErgoServer
from tests.support.irc_peer import Peer, on_irc


async def _make(peer: Peer, channel: str, *, moderated: bool = False) -> None:
    async with asyncio.TaskGroup() as group:
        rooms = Rooms(peer.client.request, PacedWrites(peer.client.request, group))
        await rooms.make(channel, moderated=moderated)


async def test_a_room_is_made_once_and_then_left_as_it_is(ergo: ErgoServer, unique: str) -> None:
    password = await ergo.add_account(unique)
    room = f"#{unique}"
    async with on_irc(ergo, unique, password, oper=True) as peer:
        await _make(peer, room, moderated=True)
        assert "is registered" in await peer.ask("CS", "INFO", room)
        async with on_irc(ergo, f"{unique}x") as stranger:
            await stranger.ask("JOIN", room)
            reply = await stranger.client.request(Message("PRIVMSG", (room, "hello")))
            assert reply.error is not None
            assert "(+m)" in reply.error.text
        await peer.ask("MODE", room, "-m")  # an operator's decision
        await _make(peer, room, moderated=True)
        reply = await peer.client.request(Message("MODE", (room,)))
        assert "m" not in reply.messages[0].params[2]


async def test_writes_of_a_channel_keep_their_distance_and_channels_go_side_by_side(
    ergo: ErgoServer, unique: str
) -> None:
    password = await ergo.add_account(unique)
    rooms = [f"#{unique}-{n}" for n in range(8)]
    async with on_irc(ergo, unique, password, oper=True) as peer:
        for room in rooms:
            await _make(peer, room)
        spans: dict[str, list[tuple[float, float]]] = {room: [] for room in rooms}
        loop = asyncio.get_running_loop()

        async def timed(message: Message) -> Reply:
            begun = loop.time()
            reply = await peer.client.request(message)
            spans[message.params[0]].append((begun, loop.time()))
            return reply

        began = loop.time()
        async with asyncio.TaskGroup() as group:
            writes = PacedWrites(timed, group)
            for room in rooms:
                keys = [metadata_write(room, f"k{n}", room) for n in range(4)]
                group.create_task(writes.write(room, [*keys, topic_write(room, "[ready] x")]))
        took = loop.time() - began
        for done in spans.values():
            assert len(done) == 5
            gaps = [after[0] - before[1] for before, after in pairwise(done)]
            assert min(gaps) >= PAUSE_SECONDS * 0.98
        assert took < len(rooms) * 4 * PAUSE_SECONDS
        for room in rooms:
            reply = await peer.client.request(metadata_list(room))
            found = [c for m in reply.messages if (c := parse_metadata(m))]
            assert {c.key: c.value for c in found} == {f"k{n}": room for n in range(4)}


async def test_a_topic_that_stands_is_not_written_again(ergo: ErgoServer, unique: str) -> None:
    password = await ergo.add_account(unique)
    room = f"#{unique}"
    async with on_irc(ergo, unique, password, oper=True) as peer:
        await _make(peer, room)
        async with asyncio.TaskGroup() as group:
            writes = PacedWrites(peer.client.request, group)
            first = await writes.write(room, [topic_write(room, "[ready] x")])
            again = await writes.write(room, [topic_write(room, "[ready] x")])
        assert (len(first[0].messages), again) == (1, [Reply(())])


async def test_a_worker_account_is_ready_for_each_attempt_and_for_that_alone(
    ergo: ErgoServer, unique: str
) -> None:
    password = await ergo.add_account(unique)
    name = f"{unique}-bot"
    async with on_irc(ergo, unique, password, oper=True) as peer:
        request = peer.client.request
        await mint(request, MintAccount(name, 5, 1, listed=False), "secret")
        first = worker_password("secret", name, 5, 1)

        async def stay_while_the_next_attempt_comes() -> None:
            async with on_irc(ergo, name, first) as worker:
                await mint(request, MintAccount(name, 5, 2, listed=True), "secret")
                await worker.hears_text("never: it is logged out, and refused when it comes back")

        with pytest.raises(ExceptionGroup) as refused:
            await stay_while_the_next_attempt_comes()
        assert refused.group_contains(LoginRefused)
        async with on_irc(ergo, name, worker_password("secret", name, 5, 2)):
            pass


async def test_a_name_that_we_never_listed_belongs_to_a_person(
    ergo: ErgoServer, unique: str
) -> None:
    password = await ergo.add_account(unique)
    await ergo.add_account(f"{unique}-ann")
    async with on_irc(ergo, unique, password, oper=True) as peer:
        effect = MintAccount(f"{unique}-ann", 5, 1, listed=False)
        with pytest.raises(NameTaken):
            await mint(peer.client.request, effect, "secret")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(("🐙 naïve — “quoted”\n\n  indented\ttab \\n {}\n" * 60)[:2400], id="emoji"),
        pytest.param("word " * 3200, id="16,000 bytes"),
        pytest.param("\n".join(str(n) for n in range(1500)), id="1,500 lines"),
        pytest.param("x", id="one letter"),
    ],
)
async def test_a_description_comes_back_byte_exact_from_its_posts(
    ergo: ErgoServer, unique: str, text: str
) -> None:
    password = await ergo.add_account(unique)
    room = f"#{unique}"
    async with on_irc(ergo, unique, password, oper=True) as peer:
        await _make(peer, room)
        await Speech(peer.client, 350).post_description(room, text)
        posts = [m async for m in history_pages(peer.client, room)]
        tagged = [m.text for m in posts if m.tags.get(DESCRIPTION_TAG) == checksum(text)]
    assert "".join(reversed(tagged)) == text


def test_posts_keep_to_the_limits() -> None:
    limits = MultilineLimits(max_bytes=400, max_lines=10, line_bytes=100)
    text = "a bb ccc 🐙\n" * 200 + "y" * 3000
    posts = to_posts(text, limits)
    assert "".join(posts) == text
    assert max(len(post.encode()) for post in posts) <= 400
    assert max(post.count("\n") for post in posts) < 10


async def test_a_server_as_we_need_it_passes_all_checks(ergo: ErgoServer) -> None:
    password = await ergo.add_account("checker")
    async with on_irc(ergo, "checker", password) as peer:
        require_caps(peer.client.caps)
        await become_operator(peer.client.request, "checker", ergo.oper_password)
        await _make(peer, "#tasks")
        await _require_rights(peer)
        await require_lasting_history(peer.client.request)


async def test_a_wrong_oper_password_is_named(ergo: ErgoServer, unique: str) -> None:
    async with on_irc(ergo, unique) as peer:
        with pytest.raises(StartRefused, match="check IRC_OPER_PASSWORD"):
            await become_operator(peer.client.request, unique, "wrong")


def test_a_server_without_metadata_is_too_old() -> None:
    with pytest.raises(StartRefused, match="does not offer draft/metadata-2; ergo 2"):
        require_caps(dict.fromkeys(_CAPS_OF_AN_OLDER_ERGO, ""))


_CAPS_OF_AN_OLDER_ERGO = (
    "account-tag", "batch", "draft/chathistory", "draft/multiline", "echo-message",
    "extended-join", "labeled-response", "message-tags", "server-time",
)  # fmt: skip


@pytest.mark.parametrize("right", ["accreg", "chanreg", "metadata"])
async def test_a_missing_right_is_named(
    private_ergo: Callable[[], Awaitable[ErgoServer]], monkeypatch: pytest.MonkeyPatch, right: str
) -> None:
    ergo = await private_ergo()
    password = await ergo.add_account("checker")
    async with on_irc(ergo, "checker", password, oper=True) as peer:
        await _make(peer, "#tasks")
    rights = [name for name in OPER_CAPABILITIES if name != right]
    _change(monkeypatch, "oper-classes.controller", {"title": "x", "capabilities": rights})
    await ergo.stop()
    await ergo.start()
    async with on_irc(ergo, "checker", password, oper=True) as peer:
        await peer.ask("JOIN", "#tasks")
        with pytest.raises(StartRefused, match=f"lacks the right `{right}`"):
            await _require_rights(peer)


async def test_history_in_memory_alone_is_refused(
    private_ergo: Callable[[], Awaitable[ErgoServer]], monkeypatch: pytest.MonkeyPatch
) -> None:
    _change(monkeypatch, "history.persistent.enabled", False)
    ergo = await private_ergo()
    password = await ergo.add_account("checker")
    async with on_irc(ergo, "checker", password, oper=True) as peer:
        await _make(peer, "#tasks")
        with pytest.raises(StartRefused, match="keeps no lasting history"):
            await require_lasting_history(peer.client.request)


async def _require_rights(peer: Peer) -> None:
    await require_service_rights(peer.client.request, "checker")
    await require_metadata_right(peer.client.request)


def _change(monkeypatch: pytest.MonkeyPatch, path: str, value: object) -> None:
    """Have servers configured otherwise from now on."""
    changed = [replace(c, value=value) if c.path == path else c for c in ergo_config.CHANGES]
    monkeypatch.setattr(ergo_config, "CHANGES", tuple(changed))
