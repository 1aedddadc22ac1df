from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from controller.errors import LocalError
from controller.home import Home
from controller.local.ergo_process import ErgoLaunch, ErgoProcess, free_port

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.support.ergo_server import ErgoServer


async def _welcome(server: ErgoServer, nick: str) -> str:
    reader, writer = await asyncio.open_connection(server.host, server.port)
    writer.write(f"NICK {nick}\r\nUSER a 0 * :a\r\n".encode())
    while " 001 " not in (line := (await reader.readline()).decode()):
        assert line
    writer.close()
    await writer.wait_closed()
    return line


async def test_server_welcomes_a_stranger(ergo: ErgoServer, unique: str) -> None:
    assert unique in await _welcome(ergo, unique)


async def test_pid_file_holds_the_pid_while_it_runs(
    private_ergo: Callable[[], Awaitable[ErgoServer]],
) -> None:
    server = await private_ergo()
    pid_file = server.home.pid_file("ergo")

    assert int(pid_file.read_text()) == server.pid
    os.kill(server.pid, 0)

    await server.stop()
    assert not pid_file.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(server.pid, 0)


async def test_a_killed_server_starts_again_with_its_accounts(
    private_ergo: Callable[[], Awaitable[ErgoServer]],
) -> None:
    server = await private_ergo()
    await server.add_account("someone")
    await server.kill()
    await server.start()

    with pytest.raises(AssertionError, match="Name reserved"):
        await server.add_account("someone")


async def test_a_taken_port_is_one_clear_line(ergo: ErgoServer, tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.prepare()
    process = ErgoProcess(ErgoLaunch(ergo.process.launch.binary, home, ergo.port, "x"))

    with pytest.raises(LocalError, match=f"port {ergo.port} on 127.0.0.1 is taken; set IRC_PORT"):
        await process.start()
    assert process.pid == 0


async def test_a_second_server_on_the_same_data_is_one_clear_line(
    private_ergo: Callable[[], Awaitable[ErgoServer]],
) -> None:
    server = await private_ergo()
    second = ErgoProcess(
        ErgoLaunch(server.process.launch.binary, server.home, free_port(), "another")
    )

    with pytest.raises(LocalError, match="already running on this data folder"):
        await second.start()
    assert not second.child.running
