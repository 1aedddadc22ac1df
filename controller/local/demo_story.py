"""What the requester of `make demo` does, step by step, with a bound on each wait."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

from controller.errors import LocalError
from controller.local.spectator import Predicate, Seen, Spectator
from shared.channels import TASKS


@dataclass(frozen=True, slots=True)
class Script:
    """What the requester says; the rest of the story is the system's."""

    description: str
    note: str
    answer: str
    steer: str
    steer_when: str
    """The steer goes out once the worker has said a line with these words in it."""
    step_seconds: float
    """How long any one step may take before the demo gives up."""


REHEARSAL = Script(
    description="""\
Write a greeting for the team
- write greeting.txt: Hello from Ergonaut.
- ask Whom shall the greeting name?
- run sleep 2
- run echo "Welcome, {answer}." >> greeting.txt
- read greeting.txt""",
    note="a note while it is a draft: keep it short",
    answer="the night shift",
    steer="write steered.txt: a person said so while the worker was busy",
    steer_when="run sleep 2",
    step_seconds=20,
)
LIVE = Script(
    description="""\
Write a greeting for the team into greeting.txt.
Before you write it, ask me with ask_human whom the greeting shall name, and wait for the answer.
Then run `sleep 5` with bash before you write the file. Hand in when it is there.""",
    note=REHEARSAL.note,
    answer=REHEARSAL.answer,
    steer="also write steered.txt with one line that says that I steered you",
    steer_when="",
    step_seconds=180,
)
FILES = ("greeting.txt", "steered.txt")


class Story:
    """One task from `!new` to `done`, seen from its requester."""

    def __init__(self, person: Spectator, nick: str, script: Script) -> None:
        self._person = person
        self._nick = nick
        self._script = script

    async def play(self) -> str:
        """The task's channel, once its topic says done and the worker has left.

        Raises LocalError that names the step at which nothing more happened.
        """
        channel = await self._draft()
        await self._ready(channel)
        await self._answer(channel)
        await self._steer(channel)
        await self._approve(channel)
        return channel

    async def _draft(self) -> str:
        await self._person.join(TASKS)
        mark = self._person.mark
        await self._person.say(TASKS, f"!new {self._script.description}")
        invite = await self._until("an invitation", _command("INVITE"), mark)
        await self._person.join(invite.place)
        await self._person.say(invite.place, self._script.note)
        return invite.place

    async def _ready(self, channel: str) -> None:
        await self._person.say(channel, "!ready")

    async def _answer(self, channel: str) -> None:
        blocked = _topic(channel, "blocked")
        await self._until("a question of the worker", blocked)
        await self._until("the question's words", _calls(channel, self._nick))
        await self._person.say(channel, self._script.answer)

    async def _steer(self, channel: str) -> None:
        mark = self._person.mark
        waited_for = self._script.steer_when
        await self._until("work to go on", _said(channel, self._nick, waited_for), mark)
        await self._person.say(channel, self._script.steer)

    async def _approve(self, channel: str) -> None:
        await self._until("the work to be handed in", _topic(channel, "for_review"))
        mark = self._person.mark
        await self._person.say(channel, "!complete")
        await self._until("the topic to say done", _topic(channel, "done"), mark)
        await self._until("the worker to leave", lambda s: s.command in ("PART", "QUIT"), mark)

    async def _until(self, what: str, predicate: Predicate, since: int = 0) -> Seen:
        try:
            async with asyncio.timeout(self._script.step_seconds):
                return await self._person.until(predicate, since)
        except TimeoutError as error:
            raise LocalError(
                f"the demo waited {self._script.step_seconds:g} s in vain for {what}"
            ) from error


def _command(command: str) -> Predicate:
    return lambda seen: seen.command == command


def _topic(channel: str, state: str) -> Predicate:
    return lambda s: s.command == "TOPIC" and s.place == channel and s.text.startswith(f"[{state}]")


def _calls(channel: str, nick: str) -> Predicate:
    begin = re.compile(rf"{re.escape(nick)}: ", re.IGNORECASE)
    return lambda s: s.command == "PRIVMSG" and s.place == channel and bool(begin.match(s.text))


def _said(channel: str, not_by: str, words: str) -> Predicate:
    return lambda s: (
        s.command == "PRIVMSG" and s.place == channel and s.nick != not_by and words in s.text
    )
