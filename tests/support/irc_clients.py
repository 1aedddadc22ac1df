"""Clients of the real server for tests: connected inside a block, gone after it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeVar

from shared.irc_client import ClientConfig, Connected, Event, IrcClient
from shared.ircv3.message import Message
from tests.support.ergo_server import ErgoServer

E = TypeVar("E", bound=Event)


async def next_event(client: IrcClient, kind: type[E], seconds: float = 10.0) -> E:
    """The next event of this kind; those before it are dropped."""
    async with asyncio.timeout(seconds):
        while True:
            event = await client.events.get()
            if isinstance(event, kind):
                return event


@asynccontextmanager
async def online(config: ClientConfig) -> AsyncIterator[IrcClient]:
    """A client that is connected, with its `Connected` already taken."""
    client = IrcClient(config)
    async with asyncio.TaskGroup() as group:
        group.create_task(client.run())
        try:
            await next_event(client, Connected)
            yield client
        finally:
            await client.close("the test is over")


def anonymous(ergo: ErgoServer, nick: str) -> ClientConfig:
    return ClientConfig(ergo.host, ergo.port, nick)


async def logged_in(ergo: ErgoServer, name: str) -> ClientConfig:
    """The configuration of a new account."""
    password = await ergo.add_account(name)
    return replace(anonymous(ergo, name), account=name, password=password)


async def become_oper(client: IrcClient, ergo: ErgoServer) -> None:
    """No flood limits, may create and register channels."""
    reply = await client.request(Message("OPER", (ergo.oper_name, ergo.oper_password)))
    assert reply.error is None, reply


async def make_channel(client: IrcClient, channel: str) -> None:
    """Join and register, so that history and METADATA are kept; `client` is an oper."""
    await client.request(Message("JOIN", (channel,)))
    reply = await client.request(Message("CS", ("REGISTER", channel)))
    assert "successfully" in reply.messages[0].text, reply
