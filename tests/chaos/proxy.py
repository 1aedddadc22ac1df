"""A network that can be bad: between the controller and its workers on one side and ergo."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

_CHUNK = 65536


@dataclass(eq=False)
class _Link:
    """One client's connection, both halves of it."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter

    def cut(self) -> None:
        """As a network does that has died: no good-bye, what was under way is gone."""
        for writer in (self.client, self.server):
            writer.transport.abort()


@dataclass
class Proxy:
    """Listens on `port`, passes on to `target_port`."""

    host: str
    port: int
    target_port: int
    _links: set[_Link] = field(default_factory=set)
    _flowing: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self._flowing.set()
        server = await asyncio.start_server(self._serve, self.host, self.port)
        try:
            yield
        finally:
            self._flowing.set()
            server.close()
            self.cut()

    def cut(self) -> None:
        """All connections of now."""
        for link in list(self._links):
            link.cut()

    async def hold(self, seconds: float) -> None:
        """Nothing gets through for a while; nothing is lost."""
        self._flowing.clear()
        try:
            await asyncio.sleep(seconds)
        finally:
            self._flowing.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(self.host, self.target_port)
        except OSError:
            writer.transport.abort()
            return
        link = _Link(writer, far_writer)
        self._links.add(link)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pass_on(reader, far_writer, link))
                group.create_task(self._pass_on(far_reader, writer, link))
        finally:
            link.cut()
            self._links.discard(link)

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, link: _Link
    ) -> None:
        """Until either end is gone, which ends both: half a connection is of no use to IRC."""
        with suppress(OSError):
            while data := await reader.read(_CHUNK):
                await self._flowing.wait()
                writer.write(data)
                await writer.drain()
        with suppress(OSError):
            await writer.drain()
        writer.close()
        if writer is link.server:
            link.client.transport.abort()
        else:
            link.server.transport.abort()
