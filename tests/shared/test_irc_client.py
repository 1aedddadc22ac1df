"""The client against the real server: login, loss and return, requests."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from shared.irc_client import (
    ClientConfig,
    Connected,
    ConnectionLost,
    Disconnected,
    IrcClient,
    LoginRefused,
    Pacing,
    Priority,
    Received,
    RequestTimeout,
)
from shared.ircv3.message import Message, ProtocolError
from shared.ircv3.split import clean
from tests.support.ergo_server import ErgoServer
from tests.support.irc_clients import (
    anonymous,
    become_oper,
    logged_in,
    make_channel,
    next_event,
    online,
)
from tests.support.scripted_server import ScriptedServer
from tests.support.until import until

MakeErgo = Callable[[], Awaitable[ErgoServer]]


async def test_an_account_logs_in_by_sasl_and_is_marked_a_bot(
    ergo: ErgoServer, unique: str
) -> None:
    config = replace(await logged_in(ergo, unique), nick="other", bot=True)
    client = IrcClient(config)
    async with asyncio.TaskGroup() as group:
        group.create_task(client.run())
        connected = await next_event(client, Connected)
        mode = await client.request(Message("MODE", (client.nick,)))
        await client.close("done")
    assert (connected.connection, connected.nick) == (1, unique)
    assert {"sasl", "labeled-response", "draft/metadata-2"} <= connected.caps.keys()
    assert (connected.isupport["CASEMAPPING"], connected.isupport["BOT"]) == ("ascii", "B")
    assert "B" in mode.messages[0].text
    assert not client.connected


async def test_a_wrong_password_is_refused_at_once_and_not_tried_again(
    ergo: ErgoServer, unique: str
) -> None:
    client = IrcClient(replace(await logged_in(ergo, unique), password="not the password"))
    async with asyncio.timeout(5):
        with pytest.raises(LoginRefused) as refused:
            await client.run()
    assert (refused.value.account, refused.value.code) == (unique, "904")
    assert unique in str(refused.value)
    assert client.events.empty()


async def test_no_password_is_ever_logged(
    ergo: ErgoServer, unique: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    config = await logged_in(ergo, unique)
    caplog.clear()
    async with online(config) as client:
        await become_oper(client, ergo)
    proof = base64.b64encode(f"\0{unique}\0{config.password}".encode()).decode()
    for secret in (config.password, proof, ergo.oper_password):
        assert secret is not None
        assert secret not in caplog.text
    assert str(config.password) not in repr(config)


async def test_a_taken_nick_is_taken_back_when_its_holder_leaves(
    ergo: ErgoServer, unique: str
) -> None:
    async with online(anonymous(ergo, unique)) as holder:
        config = replace(anonymous(ergo, unique), nick_retry_seconds=0.1)
        async with online(config) as second:
            assert second.nick == f"{unique}_"
            await holder.close("making room")
            await until(lambda: second.nick == unique)


async def test_a_holder_seen_leaving_gives_the_nick_at_once(ergo: ErgoServer, unique: str) -> None:
    channel = f"#{unique}"
    async with online(await logged_in(ergo, f"{unique}-op")) as founder:
        await become_oper(founder, ergo)
        await make_channel(founder, channel)
        async with (
            online(anonymous(ergo, unique)) as holder,
            online(replace(anonymous(ergo, unique), nick_retry_seconds=600)) as second,
        ):
            for client in (holder, second):
                await client.request(Message("JOIN", (channel,)))
            await holder.close("making room")
            await until(lambda: second.nick == unique)


async def test_a_dropped_connection_is_made_again_at_once(ergo: ErgoServer, unique: str) -> None:
    async with (
        online(anonymous(ergo, unique)) as client,
        online(anonymous(ergo, f"{unique}-op")) as oper,
    ):
        await become_oper(oper, ergo)
        oper.send(Message("KILL", (unique, "tested")))
        lost = await next_event(client, Disconnected)
        back = await next_event(client, Connected, seconds=2)
    assert (lost.connection, back.connection, back.nick) == (1, 2, unique)
    assert lost.reason.startswith("closed by the server: ")
    assert "tested" in lost.reason


async def test_a_connection_that_was_good_is_made_again_at_once_however_often_it_is_lost(
    ergo: ErgoServer, unique: str
) -> None:
    config = replace(anonymous(ergo, unique), stable_after_seconds=0.0)
    async with online(config) as client, online(anonymous(ergo, f"{unique}-op")) as oper:
        await become_oper(oper, ergo)
        async with asyncio.timeout(2):
            for _ in range(4):
                oper.send(Message("KILL", (unique, "tested")))
                await next_event(client, Connected)


async def test_a_killed_server_is_found_again_when_it_is_back(
    private_ergo: MakeErgo, unique: str
) -> None:
    server = await private_ergo()
    async with online(anonymous(server, unique)) as client:
        await server.kill()
        await next_event(client, Disconnected)
        with pytest.raises(ConnectionLost):
            client.send(Message("PRIVMSG", ("#t", "into the void")))
        with pytest.raises(ConnectionLost):
            await client.request(Message("LIST"))
        assert client.last_reply_age(asyncio.get_running_loop().time()) == float("inf")
        await server.start()
        await next_event(client, Connected)
        assert (await client.request(Message("PING", ("x",)))).messages[0].text == "x"


async def test_a_request_under_way_is_told_that_the_connection_is_lost(
    private_ergo: MakeErgo, unique: str
) -> None:
    server = await private_ergo()
    async with online(anonymous(server, unique)) as client:
        await freeze(server)
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(outcome(client, Message("LIST")))
            await asyncio.sleep(0)
            os.kill(server.pid, signal.SIGKILL)
        assert isinstance(asked.result(), ConnectionLost)


async def freeze(server: ErgoServer) -> None:
    """Stop the process as a hung host would; not stopped yet when `kill` returns."""
    os.kill(server.pid, signal.SIGSTOP)
    stat = Path(f"/proc/{server.pid}/stat")
    await until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")


async def outcome(client: IrcClient, message: Message) -> Exception | None:
    try:
        await client.request(message)
    except (ConnectionLost, RequestTimeout) as error:
        return error
    return None


async def test_a_frozen_server_is_noticed_by_its_silence(
    private_ergo: MakeErgo, unique: str
) -> None:
    server = await private_ergo()
    config = replace(
        anonymous(server, unique),
        ping_after_seconds=0.2,
        ping_timeout_seconds=0.3,
        connect_timeout_seconds=1.0,
        retry_max_seconds=0.5,
    )
    async with online(config) as client:
        await freeze(server)
        with pytest.raises(RequestTimeout):
            await client.request(Message("LIST"), timeout=0.1)
        lost = await next_event(client, Disconnected, seconds=3)
        assert lost.reason == "the server was silent for 0.5 s"
        os.kill(server.pid, signal.SIGCONT)
        await next_event(client, Connected)


async def test_a_quiet_server_that_answers_is_kept(ergo: ErgoServer, unique: str) -> None:
    config = replace(anonymous(ergo, unique), ping_after_seconds=0.05, ping_timeout_seconds=0.05)
    async with online(config) as client:
        first_line = asyncio.get_running_loop().time()
        await until(lambda: asyncio.get_running_loop().time() > first_line + 0.5)
        assert client.connected
        events = [client.events.get_nowait() for _ in range(client.events.qsize())]
        assert not any(isinstance(event, Disconnected) for event in events)
        assert "PONG" not in repr(events)


async def test_leaving_a_frozen_server_is_bounded(private_ergo: MakeErgo, unique: str) -> None:
    server = await private_ergo()
    started = asyncio.get_running_loop().time()
    async with online(anonymous(server, unique)):
        await freeze(server)
    assert asyncio.get_running_loop().time() - started < 5
    os.kill(server.pid, signal.SIGCONT)


async def test_attempts_to_connect_back_off_to_a_limit_after_a_first_retry_at_once(
    unused_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    config = ClientConfig("127.0.0.1", unused_port, "nobody", retry_max_seconds=0.1)
    client = IrcClient(config)
    async with asyncio.TaskGroup() as group:
        group.create_task(client.run())
        await until(lambda: len(caplog.messages) >= 4)
        await client.close("enough")
    waits = [message.rpartition("next attempt in ")[2] for message in caplog.messages]
    assert waits[:4] == ["0.0 s", "0.1 s", "0.1 s", "0.1 s"]
    assert f"cannot connect to 127.0.0.1:{unused_port}" in caplog.messages[0]


async def test_a_client_that_finds_no_server_can_be_closed(
    unused_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    client = IrcClient(ClientConfig("127.0.0.1", unused_port, "nobody", retry_max_seconds=60))
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        running = group.create_task(client.run())
        await until(lambda: len(caplog.messages) >= 3)  # the third attempt is a while away
        await client.close("enough")
    assert running.done()


@pytest.fixture
async def unused_port() -> int:
    server = await asyncio.start_server(lambda _r, _w: None, "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    return port


async def test_a_client_is_closed_while_the_server_has_not_said_a_word() -> None:
    silent = ScriptedServer()
    async with silent as port:
        client = IrcClient(ClientConfig("127.0.0.1", port, "nobody"))
        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            running = group.create_task(client.run())
            await silent.visited.wait()
            await client.close("enough")
    assert running.done()


async def test_replies_find_their_requests_when_many_are_under_way(
    ergo: ErgoServer, unique: str
) -> None:
    channel = f"#{unique}"
    async with online(await logged_in(ergo, unique)) as client:
        await become_oper(client, ergo)
        await make_channel(client, channel)
        async with asyncio.TaskGroup() as group:
            talk = [
                group.create_task(client.request(Message("PRIVMSG", (channel, f"line {n}"))))
                for n in range(200)
            ]
            pings = [
                group.create_task(client.request(Message("PING", (f"p{n}",)))) for n in range(200)
            ]
            listed = group.create_task(client.request(Message("LIST")))
        assert [t.result().messages[0].text for t in talk] == [f"line {n}" for n in range(200)]
        assert [t.result().messages[0].text for t in pings] == [f"p{n}" for n in range(200)]
        assert all(t.result().messages[0].tags["msgid"] for t in talk)
        assert listed.result().messages[-1].command == "323"
        events = [client.events.get_nowait() for _ in range(client.events.qsize())]
        assert "line " not in repr(events)


async def test_a_reply_is_one_line_a_batch_or_an_acknowledgement(
    ergo: ErgoServer, unique: str
) -> None:
    async with online(await logged_in(ergo, unique)) as client:
        await become_oper(client, ergo)
        joined = await client.request(Message("JOIN", (f"#{unique}",)))
        echo = await client.request(Message("PRIVMSG", (f"#{unique}", "hello")))
        acknowledged = await client.request(Message("NOTICE", (f"{unique}-nobody", "hello")))
        refused = await client.request(Message("PRIVMSG", (f"{unique}-nobody", "hello")))
    assert joined.batch is not None
    assert (joined.batch.type, joined.messages[0].command) == ("labeled-response", "JOIN")
    assert (echo.batch, echo.messages[0].text, echo.error) == (None, "hello", None)
    assert (acknowledged.messages, acknowledged.error) == ((), None)
    assert refused.error is not None
    assert refused.error.command == "401"


async def test_a_line_that_is_too_long_is_an_error_reply(ergo: ErgoServer, unique: str) -> None:
    channel = f"#{unique}"
    async with online(await logged_in(ergo, unique)) as client:
        await become_oper(client, ergo)
        await make_channel(client, channel)
        for text in ("x" * 480, "x" * 600, "x" * 9000):
            reply = await client.request(Message("PRIVMSG", (channel, text)))
            assert reply.error is not None
            assert reply.error.command == "417"
        tagged = await client.request(Message("TAGMSG", (channel,), {"+x": "y" * 5000}))
        assert tagged.error is not None
        with pytest.raises(ProtocolError):
            client.send(Message("PRIVMSG", (channel, "x" * 600)))
        assert client.connected


async def test_control_characters_never_reach_the_server(ergo: ErgoServer, unique: str) -> None:
    channel, text = f"#{unique}", "one\r\nQUIT :two\0three\rfour\n"
    async with online(await logged_in(ergo, unique)) as client:
        await become_oper(client, ergo)
        await make_channel(client, channel)
        with pytest.raises(ProtocolError):
            client.send(Message("PRIVMSG", (channel, text)))
        with pytest.raises(ProtocolError):
            await client.request(Message("PRIVMSG", (channel, text)))
        reply = await client.request(Message("PRIVMSG", (channel, clean(text))))
        assert reply.messages[0].text == "one QUIT :twothree four"


async def test_talk_of_others_and_unlabelled_echoes_come_as_events(
    ergo: ErgoServer, unique: str
) -> None:
    channel = f"#{unique}"
    async with (
        online(await logged_in(ergo, unique)) as speaker,
        online(anonymous(ergo, f"{unique}-l")) as listener,
    ):
        await become_oper(speaker, ergo)
        await make_channel(speaker, channel)
        await listener.request(Message("JOIN", (channel,)))
        speaker.send(Message("PRIVMSG", (channel, "hello"), {"+x": "y"}))
        heard, echo = [await talk(client) for client in (listener, speaker)]
    assert (heard.text, heard.nick, heard.tags["account"], heard.tags["+x"]) == (
        "hello",
        unique,
        unique,
        "y",
    )
    assert heard.tags["msgid"] == echo.tags["msgid"]


async def talk(client: IrcClient) -> Message:
    while True:
        message = (await next_event(client, Received)).message
        if message.command == "PRIVMSG":
            return message


async def test_pacing_holds_lines_back_and_lets_control_pass(ergo: ErgoServer, unique: str) -> None:
    config = replace(anonymous(ergo, unique), pacing=Pacing(burst=6, per_second=10))
    loop = asyncio.get_running_loop()
    async with online(config) as client:
        started = loop.time()
        order: list[str] = []

        async def ask(word: str, priority: Priority) -> None:
            await client.request(Message("PING", (word,)), priority=priority)
            order.append(word)

        async with asyncio.TaskGroup() as group:
            for number in range(8):
                group.create_task(ask(f"bulk{number}", Priority.BULK))
            group.create_task(ask("control", Priority.CONTROL))
        assert loop.time() - started > 0.25
    assert order[-1] == "bulk7"
    assert order.index("control") < 7


WELCOME = [
    b":s CAP * LS :batch labeled-response message-tags",
    b":s CAP * ACK :batch labeled-response message-tags",
    b":s 001 me :Welcome",
    b":s 422 me :No MOTD",
]


async def test_what_is_not_utf8_or_no_line_at_all_does_no_harm() -> None:
    odd = [b":bob PRIVMSG #t :caf\xe9", b"", b":", b"@", b"@a", b"BATCH", b"@label=99 ACK", b"CAP"]
    async with ScriptedServer([*WELCOME, *odd, b":bob PRIVMSG #t :fine"]) as port:
        client = IrcClient(ClientConfig("127.0.0.1", port, "me"))
        async with asyncio.TaskGroup() as group:
            group.create_task(client.run())
            texts = [(await talk(client)).text for _ in range(2)]
            await client.close("done")
    assert texts == ["café", "fine"]


async def test_a_server_that_lacks_what_we_need_is_refused_for_good() -> None:
    lines = [b":s 421 * CAP :Unknown command", b":s 001 me :Welcome", b":s 376 me :End"]
    async with ScriptedServer(lines) as port:
        with pytest.raises(LoginRefused, match="lacks batch, labeled-response, message-tags"):
            await IrcClient(ClientConfig("127.0.0.1", port, "me")).run()


async def test_a_server_that_never_gets_to_the_welcome_is_given_up_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with ScriptedServer() as port:
        config = ClientConfig("127.0.0.1", port, "me", connect_timeout_seconds=0.1)
        client = IrcClient(config)
        async with asyncio.TaskGroup() as group:
            group.create_task(client.run())
            await until(lambda: caplog.text.count("not logged in within 0.1 s") >= 2)
            await client.close("done")
    assert client.events.empty()
