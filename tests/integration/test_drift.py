"""What somebody else changes of a task's channel is put right: live, and at the next start."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest  # noqa: TC002  (pytest reads the annotation)

from controller.ops.oper_session import oper_session
from shared.channels import TASKS
from shared.directives import REPLY_TAG
from shared.ircv3.message import Message
from tests.support.ergo_server import ErgoServer
from tests.support.gap_stage import GapStage, Outcome, Subject, gap_stage
from tests.support.gap_table import Say

Ergos = Callable[[], Awaitable[ErgoServer]]


async def _draft(stage: GapStage) -> Subject:
    subject = Subject("a task")
    await stage.live(starts=False)
    await stage.play([subject], Say("!new {title}"))
    await stage.requester.hears(lambda m: m.tags.get(REPLY_TAG) == subject.said)
    await stage.find([subject])
    await stage.enter([subject])
    await stage.quiet()
    return subject


async def _spoil(stage: GapStage, subject: Subject, title: str = "a task") -> None:
    """By an operator. The title has no other home than the topic (design 4)."""
    ask, channel = stage.requester.ask, subject.channel
    await ask("SAMODE", channel, "+o", stage.requester.client.nick)
    await ask("MODE", channel, "-n")
    await ask("MODE", channel, "+M")
    await ask("TOPIC", channel, f"[done] {title}")


async def _modes(stage: GapStage, subject: Subject) -> set[str]:
    reply = await stage.requester.client.request(Message("MODE", (subject.channel,)))
    return {letter for m in reply.messages if m.command == "324" for letter in m.params[2]}


async def _is_right(stage: GapStage, subject: Subject) -> bool:
    (outcome,) = await stage.outcomes([subject])
    modes = await _modes(stage, subject)
    return outcome.topic == "[pending] a task" and {"n", "t"} <= modes and not outcome.moderated


async def _until_right(stage: GapStage, subject: Subject) -> None:
    async with asyncio.timeout(20):
        while not await _is_right(stage, subject):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def test_a_topic_and_modes_are_put_right_at_the_next_sweep(
    private_ergo: Ergos, caplog: pytest.LogCaptureFixture
) -> None:
    async with gap_stage(await private_ergo()) as stage:
        subject = await _draft(stage)
        with caplog.at_level(logging.INFO, "controller.runner"):
            await _spoil(stage, subject, "nothing to see here")
            await _until_right(stage, subject)
        assert "topic '[pending] a task'" in caplog.text


async def test_what_was_changed_while_nobody_looked_is_put_right_at_the_start(
    private_ergo: Ergos,
) -> None:
    async with gap_stage(await private_ergo()) as stage:
        subject = await _draft(stage)
        await stage.die()
        await _spoil(stage, subject)
        await stage.live(starts=False)
        await _until_right(stage, subject)


async def test_a_lost_registration_is_made_again_with_all_that_went_with_it(
    private_ergo: Ergos,
) -> None:
    async with gap_stage(await private_ergo()) as stage:
        subject = await _draft(stage)
        (before,) = await stage.outcomes([subject])
        await stage.die()
        asked = await stage.requester.ask("CS", "UNREGISTER", subject.channel)
        await stage.requester.ask("CS", "UNREGISTER", subject.channel, asked.split()[-1])
        await stage.live(starts=False)
        await _until_right(stage, subject)
        (after,) = await stage.outcomes([subject])
        assert _without_history(after) == _without_history(before)
        told = await stage.requester.ask("CS", "INFO", subject.channel)
        assert "is registered" in told


def _without_history(outcome: Outcome) -> tuple[object, ...]:
    return outcome.facts, outcome.topic, outcome.moderated


async def test_an_operators_tool_can_speak_in_a_closed_channel(private_ergo: Ergos) -> None:
    ergo = await private_ergo()
    async with gap_stage(ergo) as stage:
        await stage.live(starts=False)
        async with oper_session(ergo.address) as session:
            await session.say(TASKS, "ergo ends at once")
        assert (await stage.requester.hears_text("ergo ends at once")).params[0] == TASKS
