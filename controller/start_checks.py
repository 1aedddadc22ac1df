"""What the server must offer and allow, found out by capability and reply, never by version."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from controller.errors import StartRefused
from shared.channels import TASKS
from shared.irc_client import Reply
from shared.ircv3.message import Message
from shared.ircv3.metadata import means_absent

OPER_NAME = "controller"
NEEDED_CAPS = (
    "account-tag", "batch", "draft/chathistory", "draft/metadata-2", "draft/multiline",
    "echo-message", "extended-join", "labeled-response", "message-tags", "server-time",
)  # fmt: skip

_NO_RIGHT = "481"
_NOBODY = "-"  # no legal nick
_PROBES = (
    ("samode", Message("SAMODE", (TASKS,)), "set modes in channels of others"),
    ("sajoin", Message("SAJOIN", (TASKS,)), "enter channels that are closed"),
    ("kill", Message("KILL", (_NOBODY, "only a question")), "end sessions"),
)
_BURST, _BURST_SECONDS = 40, 2.0
"""So many questions take milliseconds, or seconds where the server slows us down."""

Request = Callable[[Message], Awaitable[Reply]]


def require_caps(caps: Mapping[str, str]) -> None:
    missing = [name for name in NEEDED_CAPS if name not in caps]
    if missing:
        raise StartRefused(
            f"the server does not offer {', '.join(missing)}; ergo 2.18.0 or newer is needed"
        )


async def become_operator(request: Request, nick: str, password: str) -> None:
    """`MODE -o` first: a session that joins an operator has the rights, but is slowed down."""
    await request(Message("MODE", (nick, "-o")))
    reply = await request(Message("OPER", (OPER_NAME, password)))
    if reply.error is not None:
        raise StartRefused(
            f"the server refuses OPER {OPER_NAME} ({reply.error.text.rstrip('.')}); "
            "check IRC_OPER_PASSWORD"
        )


async def require_service_rights(request: Request, account: str) -> None:
    """Try the rights without which we can make nothing, in ways that change nothing."""
    registered = await request(Message("NS", ("SAREGISTER", account, "exists-already")))
    if _says(registered, "Command restricted", "Insufficient privileges"):
        raise _lacks("accreg", "make the accounts of workers")
    listed = await request(Message("CS", ("LIST", f"^{TASKS}$")))
    if _says(listed, "Command restricted", "Insufficient privileges"):
        raise _lacks("chanreg", "register channels")


async def require_oper_rights(request: Request) -> None:
    """The same for rights over channels and sessions; #tasks is there, and we are in it."""
    for right, probe, purpose in _PROBES:
        answer = await request(probe)
        if answer.error is not None and answer.error.command == _NO_RIGHT:
            raise _lacks(right, purpose)
    try:
        async with asyncio.timeout(_BURST_SECONDS), asyncio.TaskGroup() as group:
            for _ in range(_BURST):
                group.create_task(_ask(request))
    except TimeoutError:
        raise _lacks("nofakelag", "answer at once: the server slows us down") from None


async def _ask(request: Request) -> None:
    await request(Message("PING", ("slow",)))


async def require_metadata_right(request: Request) -> None:
    """Delete what was never set, in a channel that exists."""
    deleted = await request(Message("METADATA", (TASKS, "SET", "never-set")))
    if deleted.error is not None and not means_absent(deleted.error):
        raise _lacks("metadata", f"write METADATA ({deleted.error.text})")


async def require_lasting_history(request: Request) -> None:
    """#tasks is registered by now, so its history must outlive the server."""
    reply = await request(Message("CS", ("GET", TASKS, "HISTORY")))
    if not _says(reply, "history setting is: persistent"):
        raise StartRefused(
            "the server keeps no lasting history of registered channels; ergo needs sqlite and "
            "history.persistent.registered-channels: mandatory"
        )


def _says(reply: Reply, *words: str) -> bool:
    return any(word in message.text for message in reply.messages for word in words)


def _lacks(right: str, purpose: str) -> StartRefused:
    return StartRefused(
        f"the oper block {OPER_NAME} lacks the right `{right}`, so we cannot {purpose}; "
        "add it to the capabilities of its oper-class in ergo's configuration"
    )
