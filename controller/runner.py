"""Carries jobs out (design 6): the effects of a job in order, each after the last is acknowledged.

Jobs of one lane keep their order, lanes run side by side. All of it dies with the connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from controller import effects as fx
from controller.amends import Amends
from controller.directive_desk import DirectiveDesk
from controller.engine import Engine
from controller.firehose_log import FirehoseLog
from controller.minting import NameTaken, mint
from controller.refusals import Refused, require
from controller.rooms import Rooms
from controller.speech import Speech
from controller.write_schedule import Write, metadata_write, mode_write, topic_write
from controller.writes import PacedWrites, is_accepted
from shared.directives import REPLY_TAG
from shared.firehose import FirehoseError
from shared.irc_client import IrcClient, RequestRefused
from shared.ircv3.message import Message, ProtocolError

_log = logging.getLogger(__name__)
_STATE = (fx.Publish, fx.MakeChannel, fx.SetMetadata, fx.SetTopic, fx.SetModerated)

Gap: TypeAlias = Callable[[fx.Job, int], Awaitable[None]]
"""Awaited before each effect of a job with how many are done, and with all when it is over.

The place where a crash test ends us: every gap can be tried.
"""


async def go_on(job: fx.Job, done: int) -> None:
    """The gap in which nothing happens."""


@dataclass(frozen=True, slots=True)
class Hands:
    """What effects are carried out with; made anew for each connection."""

    client: IrcClient
    writes: PacedWrites
    log: FirehoseLog
    rooms: Rooms
    speech: Speech
    desk: DirectiveDesk
    engine: Engine
    amends: Amends
    feed: Callable[[fx.Input], None]
    """Back to the core."""
    gap: Gap = go_on


class Runner:
    """Lanes of jobs."""

    def __init__(self, hands: Hands, group: asyncio.TaskGroup) -> None:
        self._hands = hands
        self._group = group
        self._lanes: dict[str, deque[fx.Job]] = {}

    def submit(self, job: fx.Job) -> None:
        _log.info("%s", summary(job), extra={"task": job.lane})
        if job.lane in self._lanes:
            self._lanes[job.lane].append(job)
            return
        self._lanes[job.lane] = deque([job])
        self._group.create_task(self._run(job.lane))

    async def _run(self, name: str) -> None:
        lane = self._lanes[name]
        while lane:
            job = lane[0]
            await JobRun(self._hands, job).run()
            await self._hands.gap(job, len(job.effects))
            lane.popleft()
        del self._lanes[name]


class JobRun:
    """One job under way."""

    def __init__(self, hands: Hands, job: fx.Job) -> None:
        self._hands = hands
        self._job = job
        self._all_confirmed = True

    async def run(self) -> None:
        """Until its end, or until something is refused, which is then its answer.

        Raises StartOver where the server does not hold what the core believes.
        """
        for index, effect in enumerate(self._job.effects):
            await self._hands.gap(self._job, index)
            try:
                await self._carry_out(effect)
            except NameTaken as taken:
                self._report_taken(str(taken))
                return
            except (Refused, RequestRefused, ProtocolError, FirehoseError) as error:
                _log.error("%s", error, extra={"task": self._job.lane})
                await self._answer_refusal(self._job.effects[index:], str(error))
                if isinstance(effect, _STATE):
                    await self._hands.amends.make(str(error))
                return

    async def _carry_out(self, effect: fx.Effect) -> None:
        match effect:
            case (
                fx.Say() | fx.Answer() | fx.PostDescription() | fx.Invite()
                | fx.Confirm() | fx.Refuse() | fx.Direct()
            ):  # fmt: skip
                await self._speak(effect)
            case fx.MintAccount() | fx.Spawn() | fx.Kill():
                await self._staff(effect)
            case fx.Handled():
                self._hands.feed(effect)
            case fx.Publish() | fx.MakeChannel() | fx.SetMetadata() | fx.SetTopic():
                await self._store(effect)
            case fx.SetModerated():
                await self._store(effect)
            case _:
                assert_never(effect)

    async def _store(
        self,
        effect: fx.Publish | fx.MakeChannel | fx.SetMetadata | fx.SetTopic | fx.SetModerated,
    ) -> None:
        match effect:
            case fx.Publish(event):
                await self._hands.log.publish(event)
            case fx.MakeChannel(channel, moderated, anew):
                await self._hands.rooms.make(channel, moderated=moderated, anew=anew)
            case fx.SetMetadata(channel, values):
                writes = [metadata_write(channel, key, value) for key, value in values.items()]
                await self._write(channel, writes)
            case fx.SetTopic(channel, topic):
                await self._write(channel, [topic_write(channel, topic)])
            case fx.SetModerated(channel, on):
                await self._write(channel, [mode_write(channel, "M", on=on)])

    async def _write(self, channel: str, writes: list[Write]) -> None:
        replies = await self._hands.writes.write(channel, writes)
        for write, reply in zip(writes, replies, strict=True):
            if not is_accepted(reply):
                require(reply, f"{channel} {write.key}")

    async def _speak(
        self,
        effect: fx.Say
        | fx.Answer
        | fx.PostDescription
        | fx.Invite
        | fx.Confirm
        | fx.Refuse
        | fx.Direct,
    ) -> None:
        hands = self._hands
        match effect:
            case fx.Say(target, lines, notice, tags):
                await hands.speech.say(target, lines, notice=notice, tags=tags)
            case fx.Answer():
                await self._answer(effect)
            case fx.PostDescription(channel, text):
                await hands.speech.post_description(channel, text)
            case fx.Invite(nick, channel):
                await hands.client.request(Message("INVITE", (nick, channel)))
            case fx.Confirm(nick, msgid):
                hands.client.send(Message("TAGMSG", (nick,), {REPLY_TAG: msgid}))
            case fx.Refuse(nick, msgid, why):
                tags = {REPLY_TAG: msgid}
                await hands.speech.say(nick, (why,), notice=True, last_tags=tags)
            case fx.Direct():
                self._all_confirmed &= await hands.desk.direct(effect)

    async def _answer(self, effect: fx.Answer) -> None:
        lines = effect.lines
        if not self._all_confirmed and effect.if_unconfirmed is not None:
            lines = effect.if_unconfirmed
        await self._hands.speech.say(
            effect.target, lines, notice=effect.notice, last_tags={REPLY_TAG: effect.cause}
        )

    async def _staff(self, effect: fx.MintAccount | fx.Spawn | fx.Kill) -> None:
        engine = self._hands.engine
        match effect:
            case fx.MintAccount():
                await mint(self._hands.client.request, effect, engine.secret)
            case fx.Spawn(channel, env):
                self._hands.feed(await engine.spawn(channel, env))
            case fx.Kill(ref):
                await engine.kill(ref)

    def _report_taken(self, account: str) -> None:
        """The rest of the job is dropped; the core picks another name."""
        for effect in self._job.effects:
            if isinstance(effect, fx.Spawn):
                attempt = effect.env.attempt
                self._hands.feed(fx.AccountTaken(effect.channel, attempt, account))

    async def _answer_refusal(self, rest: tuple[fx.Effect, ...], why: str) -> None:
        """Whoever asked hears the cause; a start that was not tried is a failed one."""
        for effect in rest:
            match effect:
                case fx.Answer():
                    lines = (f"that did not work: {why}",)
                    await self._answer(replace(effect, lines=lines, if_unconfirmed=None))
                case fx.Handled():
                    self._hands.feed(effect)
                case fx.Spawn(channel, env):
                    failed = fx.SpawnFailed(channel, env.attempt, why, transient=True)
                    self._hands.feed(failed)
                case _:
                    pass


def summary(job: fx.Job) -> str:
    """A decision in one line for the log."""
    return ", ".join(_word(effect) for effect in job.effects)


def _word(effect: fx.Effect) -> str:
    match effect:
        case fx.Publish(event):
            return f"publish {event.kind}"
        case fx.SetMetadata(_, values):
            return f"set {' '.join(values)}"
        case fx.SetTopic(_, topic):
            return f"topic {topic!r}"
        case fx.Say(target) | fx.Answer(target):
            return f"tell {target}"
        case fx.Direct(directive=directive):
            return f"direct {type(directive).__name__}"
        case _:
            return type(effect).__name__
