"""A short anonymous session with operator rights, for the tools that manage accounts.

They never log in as `controller`: that would look like a second controller.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import ssl
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from controller.errors import ControllerError
from shared.ircv3.message import Message, format_message, parse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

OPER_NAME = "controller"
REPLY_SECONDS = 10.0
_OPER_DONE = "381"
_OPER_REFUSED = frozenset({"491", "461", "464"})
_WELCOME = "001"


class OperError(ControllerError):
    """The server cannot be reached or refuses; its text is the line that the person sees."""


@dataclass(frozen=True)
class OperAddress:
    """Where the server is and how to become an operator there."""

    host: str
    port: int
    oper_password: str = field(repr=False)
    tls: bool = False

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class OperSession:
    """One connection; it asks NickServ, and can say something."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def nickserv(self, *words: str) -> tuple[str, ...]:
        """The lines by which NickServ answered a command, complete."""
        token = secrets.token_hex(6)
        self._send(Message("NS", words))
        self._send(Message("PING", (token,)))
        lines: list[str] = []

        def collect(message: Message) -> bool:
            if message.command == "NOTICE" and message.nick.lower() == "nickserv":
                lines.append(message.text)
            return message.command == "PONG" and message.text == token

        await self._read_until(collect)
        return tuple(lines)

    async def say(self, channel: str, text: str) -> None:
        """One line, in a channel that lets nobody speak from outside."""
        token = secrets.token_hex(6)
        self._send(Message("JOIN", (channel,)))
        self._send(Message("PRIVMSG", (channel, text)))
        self._send(Message("PING", (token,)))
        await self._read_until(lambda m: m.command == "PONG" and m.text == token)

    async def register(self) -> None:
        """NICK and USER until the server welcomes us."""
        self._send(Message("NICK", (f"ops-{secrets.token_hex(5)}",)))
        self._send(Message("USER", ("ops", "0", "*", "Ergonaut operator tool")))
        await self._read_until(lambda message: message.command == _WELCOME)

    async def become_operator(self, password: str) -> None:
        """OPER; OperError when the server knows another password."""
        self._send(Message("OPER", (OPER_NAME, password)))
        verdict: list[Message] = []

        def decided(message: Message) -> bool:
            if message.command == _OPER_DONE or message.command in _OPER_REFUSED:
                verdict.append(message)
            return bool(verdict)

        await self._read_until(decided)
        if verdict[0].command != _OPER_DONE:
            raise OperError(
                f"the server refuses OPER {OPER_NAME}: {verdict[0].text}; check IRC_OPER_PASSWORD"
            )

    async def close(self) -> None:
        """QUIT and wait for the end, briefly."""
        with contextlib.suppress(OSError, TimeoutError):
            self._send(Message("QUIT", ("done",)))
            async with asyncio.timeout(1):
                await self._reader.read()
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    def _send(self, message: Message) -> None:
        self._writer.write(format_message(message).encode() + b"\r\n")

    async def _read_until(self, done: Callable[[Message], bool]) -> None:
        async with asyncio.timeout(REPLY_SECONDS):
            while True:
                line = await self._reader.readline()
                if not line:
                    raise OperError("the server closed the connection")
                message = parse(line.decode(errors="replace"))
                if message.command == "PING":
                    self._send(Message("PONG", (message.text,)))
                if message.command == "ERROR":
                    raise OperError(f"the server closed the connection: {message.text}")
                if done(message):
                    return


@asynccontextmanager
async def oper_session(address: OperAddress) -> AsyncIterator[OperSession]:
    """Connect, register, become operator; OperError names the step that failed."""
    tls = ssl.create_default_context() if address.tls else None
    try:
        async with asyncio.timeout(REPLY_SECONDS):
            reader, writer = await asyncio.open_connection(address.host, address.port, ssl=tls)
    except (OSError, TimeoutError) as error:
        raise OperError(
            f"no IRC server answers on {address} ({str(error) or 'timeout'})"
        ) from error
    session = OperSession(reader, writer)
    try:
        await session.register()
        await session.become_operator(address.oper_password)
        yield session
    except TimeoutError as error:
        raise OperError(f"the IRC server on {address} does not answer") from error
    except OSError as error:
        raise OperError(f"the connection to {address} broke: {error}") from error
    finally:
        await session.close()
