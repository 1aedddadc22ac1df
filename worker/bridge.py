"""Between the room and the agent: brings happenings to the session, and carries its actions out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import assert_never

from shared.irc_client import (
    Connected,
    ConnectionLost,
    Disconnected,
    Event,
    IrcClient,
    IrcError,
    Received,
    RequestTimeout,
)
from shared.ircv3.message import Message
from worker import effects, farewells, inbound
from worker.duties import Duties, Duty
from worker.effects import Action, RoomLine, Say
from worker.errors import ExitCode, RoomClosed
from worker.memory import remembered_line
from worker.narration import Telemetry
from worker.post import Post
from worker.presence import Presence
from worker.runs import Runs
from worker.session import Session
from worker.voice import Voice

TERMINATION_SECONDS = 3.0
"""From SIGTERM to our end, whatever hangs; a spawner kills after five."""
_REST_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Lines:
    """What connects the worker with the server."""

    client: IrcClient
    presence: Presence
    voice: Voice
    post: Post


class Bridge:
    """One attempt, from the first connection to the end."""

    def __init__(
        self, lines: Lines, session: Session, prepare: Callable[[str], Coroutine[None, None, None]]
    ) -> None:
        """`prepare` gets the title, once the first line is out; it calls `use` and feeds."""
        self._client = lines.client
        self._presence = lines.presence
        self._voice = lines.voice
        self._post = lines.post
        self._session = session
        self._prepare = prepare
        self._inputs: asyncio.Queue[effects.Input] = asyncio.Queue()
        self._runs: Runs | None = None
        self._duties = Duties()
        self._seen: set[str] = set()
        """msgids of lines that were heard, live or from history."""
        self._anchor = ""
        """msgid of the newest message of the channel."""

    # For the parts beside it

    def feed(self, happening: effects.Input) -> None:
        """For everybody who has something to tell the session."""
        self._inputs.put_nowait(happening)

    def terminate(self) -> None:
        """SIGTERM: end soon, even if something hangs."""
        self.feed(effects.Terminate())
        loop = asyncio.get_running_loop()
        loop.call_later(TERMINATION_SECONDS, self._duties.leave, farewells.TERMINATED)

    def use(self, make_runs: Callable[[Callable[[Duty], None]], Runs]) -> None:
        """The agent is there."""
        self._runs = make_runs(self._duties.start)

    def remember(self, messages: list[Message]) -> None:
        """History that the agent is told of: none of it counts as newly said."""
        msgids = [message.tags["msgid"] for message in messages if "msgid" in message.tags]
        self._seen.update(msgids)
        self._anchor = self._anchor or (msgids[-1] if msgids else "")

    def tell(self, told: Say | Telemetry) -> None:
        """What the agent's events give: lines for people, telemetry for the controller."""
        match told:
            case Say(text, urgent):
                self._voice.say(text, urgent=urgent)
            case Telemetry(payload):
                self._post.tell_tool(payload)

    async def run(self) -> ExitCode:
        """Raises LoginRefused and RoomClosed, each in an ExceptionGroup."""
        first = (
            self._client.run(),
            self._listen(),
            self._decide(),
            self._voice.run(),
            self._post.run(),
        )
        return await self._duties.run(first, self._say_goodbye)

    # What happens

    async def _listen(self) -> None:
        while True:
            await self._handle(await self._client.events.get())

    async def _handle(self, event: Event) -> None:
        match event:
            case Connected():
                await self._arrive()
            case Disconnected():
                self._presence.online.clear()
            case Received(message) if self._presence.is_our_exit(message):
                if not self._duties.over:
                    await self._come_back(message.text)
            case Received(message):
                self._receive(message)
            case _:
                pass

    async def _arrive(self) -> None:
        """Into the room; a connection that is lost meanwhile is followed by another."""
        while True:
            try:
                title = await self._presence.join()
                if self._presence.arrivals == 1:
                    self._duties.start(self._prepare(title))
                else:
                    await self._catch_up()
            except RequestTimeout:
                continue
            except ConnectionLost:
                return
            self._presence.online.set()
            self._post.hurry()
            return

    async def _come_back(self, why: str) -> None:
        """Put out of the room: in again, unless that happens again and again."""
        self._presence.online.clear()
        if self._presence.may_return(_now()):
            await self._arrive()
        else:
            raise RoomClosed(f"put out of {self._presence.room.channel} too often: {why}")

    async def _catch_up(self) -> None:
        """People's lines that we missed. What looks like a directive in history never is one."""
        await self._presence.meet_peers()
        if not self._anchor:
            return
        for message in await self._presence.since(self._anchor):
            self._note_anchor(message)
            line = remembered_line(message, self._presence.room)
            if line is not None:
                self._hear(line)

    def _receive(self, message: Message) -> None:
        self._note_anchor(message)
        match inbound.decide(message, self._presence.room):
            case inbound.Line(line):
                self._hear(line)
            case inbound.Directive(directive, _, nick, msgid, cause) as order:
                if self._post.is_new(order):
                    self.feed(effects.Directed(directive, nick, msgid, cause))
            case inbound.Confirmation(msgid):
                self._post.confirmed(msgid)
            case inbound.Refusal(msgid, why):
                refused = self._post.confirmed(msgid)
                if refused is not None:
                    self.feed(effects.DirectiveRefused(refused, why))
            case inbound.ControllerHere():
                self._post.hurry()
            case inbound.Ignore():
                pass

    def _hear(self, line: RoomLine) -> None:
        if line.msgid and line.msgid in self._seen:
            return
        self._seen.add(line.msgid)
        self.feed(effects.Heard(line))

    def _note_anchor(self, message: Message) -> None:
        target = message.params[0] if message.params else ""
        if message.command == "PRIVMSG" and self._presence.room.is_channel(target):
            self._anchor = message.tags.get("msgid", self._anchor)

    # What is done about it

    async def _decide(self) -> None:
        while True:
            happening = await self._next()
            for action in self._session.feed(happening, _now()):
                self._act(action)

    async def _next(self) -> effects.Input:
        try:
            async with asyncio.timeout_at(self._session.wake_at()):
                return await self._inputs.get()
        except TimeoutError:
            return effects.Tick()

    def _act(self, action: Action) -> None:
        match action:
            case Say():
                self.tell(action)
            case effects.Note(text):
                self._voice.note(text)
            case effects.Direct(directive):
                self._voice.then(lambda: self._post.put(directive))
            case effects.Confirm(nick, msgid):
                self._post.confirm(nick, msgid)
            case effects.Refuse(nick, msgid, why):
                self._post.refuse(nick, msgid, why)
            case effects.FindLine(msgid):
                self._duties.start(self._find(msgid))
            case effects.Leave():
                self._duties.start(self._depart(action))
            case _:
                self._order(action)

    def _order(
        self, action: effects.Prompt | effects.Steer | effects.Continue | effects.Abort
    ) -> None:
        assert self._runs is not None  # the session orders nothing before Prepared
        match action:
            case effects.Prompt(text, reference):
                self._runs.prompt(text, reference)
            case effects.Steer(text, reference):
                self._runs.steer(text, reference)
            case effects.Continue():
                self._runs.go_on()
            case effects.Abort():
                self._runs.abort()
            case _:
                assert_never(action)

    async def _find(self, msgid: str) -> None:
        message = None
        while True:
            await self._presence.online.wait()
            try:
                message = await self._presence.find(msgid)
                break
            except IrcError:
                await asyncio.sleep(0)
        line = remembered_line(message, self._presence.room) if message else None
        self.feed(effects.LineFound(msgid, line))

    async def _depart(self, leave: effects.Leave) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(leave.patience_seconds):
                await self._voice.flushed()
                await self._post.drained()
        with suppress(TimeoutError):
            async with asyncio.timeout(_REST_SECONDS):
                await self._post.send_rest()
        self._duties.leave(leave)

    async def _say_goodbye(self, leave: effects.Leave) -> None:
        with suppress(IrcError):
            if leave.code is ExitCode.FAILED:  # nobody else could say it any more
                await self._presence.say(leave.farewell)
            await self._presence.part(leave.farewell)
        await self._client.close(leave.farewell)


def _now() -> float:
    return asyncio.get_running_loop().time()
