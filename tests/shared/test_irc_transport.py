from __future__ import annotations

import asyncio

import pytest

from shared.irc_events import ConnectionLost
from shared.irc_transport import LineTransport
from tests.support.scripted_server import ScriptedServer
from tests.support.until import until


async def test_a_mistake_in_handling_a_line_keeps_the_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    handled: list[str] = []

    def on_line(line: str) -> None:
        handled.append(line)
        if line == "one":
            raise RuntimeError("a bug of ours")

    async with ScriptedServer([b"one", b"two"]) as port:
        transport = await LineTransport.open("127.0.0.1", port, tls=False, on_line=on_line)
        await until(lambda: handled == ["one", "two"])
        assert not transport.closed.done()
        transport.write("QUIT")
        async with asyncio.timeout(5):
            assert await transport.closed == "the server closed the connection"
    assert "a bug of ours" in caplog.text


async def test_a_port_where_nobody_listens_is_named() -> None:
    with pytest.raises(ConnectionLost, match=r"cannot connect to 127\.0\.0\.1:1: "):
        await LineTransport.open("127.0.0.1", 1, tls=False, on_line=lambda _: None)


async def test_nothing_but_the_lines_that_we_write_is_sent() -> None:
    heard = asyncio.get_running_loop().create_future()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.set_result(await reader.read())
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        transport = await LineTransport.open("127.0.0.1", port, tls=False, on_line=lambda _: None)
        transport.write("PRIVMSG #t :é 🚀" + "x" * 600)
        await asyncio.sleep(0)
        transport.abort("done")
        assert await transport.closed == "done"
        try:
            assert await heard == ("PRIVMSG #t :é 🚀" + "x" * 600 + "\r\n").encode()
        except ConnectionResetError:
            pytest.fail("the line was lost")
