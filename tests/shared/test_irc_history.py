"""History, multiline and METADATA through the client, against the real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from shared.irc_client import IrcClient, Received, RequestRefused, history_pages
from shared.ircv3.batch import multiline_lines, parse_multiline_limits
from shared.ircv3.message import Message
from shared.ircv3.metadata import (
    MetadataChange,
    means_absent,
    metadata_list,
    metadata_set,
    metadata_subscribe,
    parse_metadata,
)
from tests.support.ergo_server import ErgoServer
from tests.support.irc_clients import (
    anonymous,
    become_oper,
    logged_in,
    make_channel,
    next_event,
    online,
)


@pytest.fixture
async def founder(ergo: ErgoServer, unique: str) -> AsyncIterator[IrcClient]:
    """An oper in its own registered channel, `#` and its nick."""
    async with online(await logged_in(ergo, unique)) as client:
        await become_oper(client, ergo)
        await make_channel(client, f"#{unique}")
        yield client


async def test_history_is_paged_whole_though_joins_and_parts_lie_between(
    ergo: ErgoServer, unique: str, founder: IrcClient
) -> None:
    channel = f"#{unique}"
    async with online(anonymous(ergo, f"{unique}-v")) as visitor:
        await become_oper(visitor, ergo)
        for start in range(0, 1200, 10):
            await visitor.request(Message("JOIN", (channel,)))
            visitor.send(Message("PART", (channel,)))
            async with asyncio.TaskGroup() as group:
                for number in range(start, start + 10):
                    text = f"line {number}"
                    group.create_task(founder.request(Message("PRIVMSG", (channel, text))))
    expected = [f"line {number}" for number in range(1200)]
    forward = [
        message.text
        async for message in history_pages(
            founder, channel, after="timestamp=2000-01-01T00:00:00.000Z"
        )
    ]
    backward = [message async for message in history_pages(founder, channel)]
    assert forward == expected
    assert [message.text for message in backward] == expected[::-1]
    since = [m.text async for m in history_pages(founder, channel, after=backward[5].tags["msgid"])]
    assert since == expected[-5:]


async def test_history_of_a_channel_that_we_are_not_in_is_refused(
    ergo: ErgoServer, unique: str, founder: IrcClient
) -> None:
    async with online(anonymous(ergo, f"{unique}-v")) as visitor:
        with pytest.raises(RequestRefused, match="INVALID_TARGET"):
            async for _ in history_pages(visitor, f"#{unique}"):
                pass


async def test_a_multiline_text_of_3000_bytes_arrives_byte_for_byte(
    ergo: ErgoServer, unique: str, founder: IrcClient
) -> None:
    channel = f"#{unique}"
    paragraph = "Ünïcode 🚀👩\u200d💻 wörds  and   spaces " * 20 + "\n\n"
    text = (paragraph * 4)[:2300]
    assert 2900 < len(text.encode()) < 4096
    async with online(anonymous(ergo, f"{unique}-r")) as reader:
        await reader.request(Message("JOIN", (channel,)))
        limits = parse_multiline_limits(founder.caps["draft/multiline"])
        lines = multiline_lines(channel, text, {"+ergonaut/description": "crc"}, "d1", limits)
        reply = await founder.request_lines(lines)
        while not (heard := (await next_event(reader, Received)).message).text.startswith("Ü"):
            pass
        stored = [message async for message in history_pages(reader, channel)]
    assert [reply.messages[0].text, heard.text, stored[0].text] == [text] * 3
    tags = {"account": unique, "+ergonaut/description": "crc"}
    for message in (reply.messages[0], heard, stored[0]):
        assert message.tags["msgid"] == heard.tags["msgid"]
        assert tags.items() <= message.tags.items()


async def test_metadata_is_set_listed_pushed_and_deleted(
    ergo: ErgoServer, unique: str, founder: IrcClient
) -> None:
    channel = f"#{unique}"
    async with online(anonymous(ergo, f"{unique}-m")) as member:
        await member.request(metadata_subscribe("status"))
        await member.request(Message("JOIN", (channel,)))
        answers = [
            await founder.request(metadata_set(channel, "status", "in progress")),
            await founder.request(metadata_set(channel, "other", "not subscribed to")),
            await founder.request(metadata_list(channel)),
            await founder.request(metadata_set(channel, "status", None)),
            await founder.request(metadata_set(channel, "status", None)),
        ]
        pushed = [await next_change(member) for _ in range(2)]
        left = await founder.request(metadata_list(channel))
    status = MetadataChange(channel, "status", "in progress")
    other = MetadataChange(channel, "other", "not subscribed to")
    gone = MetadataChange(channel, "status", None)
    assert [parse_metadata(answer.messages[0]) for answer in answers[:2]] == [status, other]
    assert {parse_metadata(message) for message in answers[2].messages} == {status, other}
    assert all(means_absent(answer.messages[0]) for answer in answers[3:])
    assert pushed == [status, gone]
    assert [parse_metadata(message) for message in left.messages] == [other]


async def next_change(client: IrcClient) -> MetadataChange:
    while True:
        change = parse_metadata((await next_event(client, Received)).message)
        if change is not None:
            return change
