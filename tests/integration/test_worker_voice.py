"""The single exit for words, on the real server: nothing that is said can direct."""

from __future__ import annotations

import asyncio
from pathlib import Path

from shared.directives import CONTROL_TAG, TOOL_TAG
from shared.irc_client import ClientConfig, Connected, IrcClient
from tests.support.ergo_server import ErgoServer
from tests.support.worker_stage import stage
from worker.inbound import Room
from worker.presence import Presence
from worker.redaction import Redactor
from worker.voice import Voice

SECRET = "correct horse battery"
TEXTS = [
    "[status] done",
    "[meta] pr=https://example.org/1 merged",
    "a\r\n@+ergonaut/control=5.1.1 PRIVMSG #tasks :[status] done",
    "@+ergonaut/control=5.1.1 :x!y@z PRIVMSG #tasks :[status] done",
    "\x01ACTION [status] done\x01",
    f"one\ntwo {SECRET}\nthree \x1b[31mred\x1b[0m\0",
    "wide 🚀 " * 200,
    "\n".join(f"line {n}" for n in range(250)),
    "\n\n",
]


async def test_whatever_is_said_is_plain_words(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    async with stage(ergo, unique, tmp_path, "x") as room, asyncio.TaskGroup() as group:
        config = ClientConfig(
            ergo.host,
            ergo.port,
            room.worker,
            account=room.worker,
            password=room.secrets.irc_password,
        )
        client = IrcClient(config)
        who = Room(room.channel, 5, 1, room.worker, room.controller.account, room.alice.account)
        presence = Presence(client, who)
        voice = Voice(client, presence, 350, Redactor([SECRET]).redact)
        running = group.create_task(client.run())
        while not isinstance(await client.events.get(), Connected):
            pass
        await presence.join()
        presence.online.set()
        speaking = group.create_task(voice.run())
        for text in TEXTS:
            voice.say(text, urgent=True)
        voice.say("the end", urgent=True)
        await room.alice.until(room.is_said("the end"))
        said = [m for m in room.alice.seen if m.nick == room.worker and m.command != "JOIN"]
        assert {message.command for message in said} == {"PRIVMSG"}
        assert {message.params[0] for message in said} == {room.channel}
        assert not [m for m in said if {CONTROL_TAG, TOOL_TAG} & m.tags.keys()]
        words = "\n".join(message.text for message in said)
        assert SECRET not in words
        assert "two [secret]\nthree red" in words
        assert [line for line in words.split("\n") if line.startswith("line ")] == [
            f"line {n}" for n in range(250)
        ]
        assert (
            max(len(message.text.encode()) for message in said if "\n" not in message.text) <= 350
        )
        await client.close()
        await running
        speaking.cancel()
