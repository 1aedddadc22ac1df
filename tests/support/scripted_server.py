"""A peer that says what no ergo would: fixed lines at once, then it listens until QUIT."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence


class ScriptedServer:
    """`async with ScriptedServer(lines) as port`; every client is told the same."""

    def __init__(self, lines: Sequence[bytes] = ()) -> None:
        self._lines = lines
        self.visited = asyncio.Event()
        """Somebody has connected."""

    async def __aenter__(self) -> int:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.visited.set()
        writer.write(b"".join(line + b"\r\n" for line in self._lines))
        while (heard := await reader.read(4096)) and b"QUIT" not in heard:
            pass
        writer.close()
