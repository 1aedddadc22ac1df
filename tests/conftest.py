"""Fixtures of every folder: the real ergo, found or built once, and names for one test alone."""

from __future__ import annotations

import asyncio
import itertools
import os
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import pytest

from controller.errors import LocalError
from controller.local.ergo_binary import find_or_build, say_on_stderr
from tests.support.ergo_server import ErgoServer, start_ergo

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
    from pathlib import Path

T = TypeVar("T")
_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session", autouse=True)
def _no_stray_loop() -> None:
    # looptime asks for the current loop before each test, which makes one that nobody closes.
    asyncio.set_event_loop(None)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build ergo before the first test: inside one, the minute that it takes would be a timeout."""
    wanted = any("ergo_binary" in getattr(item, "fixturenames", ()) for item in session.items)
    if wanted and not session.config.option.collectonly:
        with suppress(LocalError):  # told by the tests that need it
            find_or_build(os.environ, say_on_stderr)


@pytest.fixture(scope="session")
def ergo_binary() -> Path:
    """The binary that `make ergo` finds or builds."""
    return find_or_build(os.environ, say_on_stderr)


@pytest.fixture(scope="session")
def ergo_server(
    ergo_binary: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ErgoServer]:
    """One server for the whole session; it dies with the test process, however that ends."""
    server = _complete(start_ergo(ergo_binary, tmp_path_factory.mktemp("ergo")))
    yield server
    _complete(server.stop())


def _complete(coroutine: Coroutine[None, None, T]) -> T:
    # A loop of its own: one that lived for the session would get in the way of the tests' loops.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(coroutine)


@pytest.fixture
def ergo(ergo_server: ErgoServer) -> ErgoServer:
    """The session's server: use names from `unique`, leave it running."""
    return ergo_server


@pytest.fixture
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
