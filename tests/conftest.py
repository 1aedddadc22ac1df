"""Fixtures of every folder: the real ergo, found or built once, and names for one test alone."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from controller.local.ergo_binary import find_or_build, say_on_stderr
from tests.support.ergo_server import ErgoServer, start_ergo

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def ergo_binary() -> Path:
    """The binary that `make ergo` finds or builds."""
    return find_or_build(os.environ, say_on_stderr)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def ergo_server(
    ergo_binary: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ErgoServer]:
    """One server for the whole session; it dies with the test process, however that ends."""
    server = await start_ergo(ergo_binary, tmp_path_factory.mktemp("ergo"))
    yield server
    await server.stop()


@pytest.fixture
def ergo(ergo_server: ErgoServer) -> ErgoServer:
    """The session's server: use names from `unique`, leave it running."""
    return ergo_server


@pytest_asyncio.fixture
async def private_ergo(
    ergo_binary: Path, tmp_path: Path
) -> AsyncIterator[Callable[[], Awaitable[ErgoServer]]]:
    """Makes servers that a test may stop, kill and start again."""
    servers: list[ErgoServer] = []

    async def make() -> ErgoServer:
        server = await start_ergo(ergo_binary, tmp_path / f"ergo-{len(servers)}")
        servers.append(server)
        return server

    yield make
    for server in servers:
        await server.stop()


@pytest.fixture
def unique() -> str:
    """A short word that no other test of this run has, legal in nicks and channel names."""
    return f"u{next(_NUMBERS)}"
