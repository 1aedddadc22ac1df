"""The only place that sets the control tag: directives to the controller, and answers to its own.

What is sent here is formatted from directive values; text of the model never comes this way but as
the detail of a reason.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from shared.directives import CONTROL_TAG, REPLY_TAG, TOOL_TAG, ControlTag, FromWorker
from shared.irc_client import ConnectionLost, IrcClient, RequestTimeout
from shared.ircv3.message import Message
from shared.ircv3.split import clean
from shared.outbox import Entry
from worker.inbound import Directive
from worker.lane import Lane, Take
from worker.plain_text import plain
from worker.presence import Presence

_log = logging.getLogger(__name__)

_TELEMETRY_SEQ = 0
"""Telemetry is not repeated, so it takes no number of the directives."""


class Post:
    """Sends each directive until the controller confirms it; `run` is its duty."""

    def __init__(self, client: IrcClient, presence: Presence, redact: Callable[[str], str]) -> None:
        self._client = client
        self._presence = presence
        self._redact = redact
        self._lane = Lane()
        self._changed = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()

    def put(self, directive: FromWorker) -> None:
        self._lane.put(directive)
        self._notice_change()

    async def drained(self) -> None:
        """Returns when the controller has confirmed everything."""
        await self._empty.wait()

    async def send_rest(self) -> None:
        """At the end: say once what still waits, though the controller may be too busy to confirm,
        as it is while it ends us."""
        for entry in self._lane.rest():
            await self._send(entry)

    def confirmed(self, msgid: str) -> FromWorker | None:
        """The controller took, or refused, the directive of this msgid."""
        done = self._lane.confirmed(msgid)
        self._notice_change()
        return done

    def hurry(self) -> None:
        """The controller has come, or we have come back: repeat at once."""
        self._lane.hurry()
        self._notice_change()

    def is_new(self, directive: Directive) -> bool:
        """True once for each; a repeat of what was carried out is confirmed here."""
        take = self._lane.take(directive)
        if take is Take.DONE:
            self.confirm(directive.nick, directive.msgid)
        return take is Take.NEW

    def confirm(self, nick: str, msgid: str) -> None:
        self._answer(Message("TAGMSG", (nick,), {REPLY_TAG: msgid}), msgid)

    def refuse(self, nick: str, msgid: str, why: str) -> None:
        self._answer(Message("NOTICE", (nick, clean(why)), {REPLY_TAG: msgid}), msgid)

    def tell_tool(self, payload: Mapping[str, Any]) -> None:
        """Telemetry: lost where nobody listens."""
        safe = {k: self._redact(v) if isinstance(v, str) else v for k, v in payload.items()}
        text = json.dumps(safe, ensure_ascii=False, separators=(",", ":"))
        tags = {CONTROL_TAG: self._tag(_TELEMETRY_SEQ), TOOL_TAG: clean(text)}
        with suppress(ConnectionLost):
            self._client.send(Message("TAGMSG", (self._presence.room.controller,), tags))

    async def run(self) -> None:
        while True:
            await self._presence.online.wait()
            entry = self._lane.due(_now())
            if entry is not None:
                await self._send(entry)
                continue
            due_at = self._lane.next_at()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(due_at):
                    await self._changed.wait()
            self._changed.clear()

    async def _send(self, entry: Entry) -> None:
        text = clean(self._redact(plain(entry.text)))
        tags = {CONTROL_TAG: self._tag(entry.seq)}
        message = Message("PRIVMSG", (self._presence.room.channel, text), tags)
        try:
            reply = await self._client.request(message)
        except (ConnectionLost, RequestTimeout) as error:
            _log.warning("directive %s not sent: %s", entry.seq, error)
            return
        if reply.error is not None:
            _log.error("the server refuses directive %s: %s", entry.seq, reply.error)
        for echo in reply.messages:
            if echo.command == "PRIVMSG" and "msgid" in echo.tags:
                self._lane.sent(entry, echo.tags["msgid"])
        self._notice_change()

    def _answer(self, message: Message, msgid: str) -> None:
        self._lane.answered(msgid)
        with suppress(ConnectionLost):  # the controller repeats, and is answered again
            self._client.send(message)

    def _tag(self, seq: int) -> str:
        room = self._presence.room
        return str(ControlTag(room.task, room.attempt, seq))

    def _notice_change(self) -> None:
        self._changed.set()
        if self._lane.empty:
            self._empty.set()
        else:
            self._empty.clear()


def _now() -> float:
    return asyncio.get_running_loop().time()
