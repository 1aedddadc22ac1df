"""A disk that fills up under ergo, and is freed again, on the real server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from controller.log_loss import CAUSE
from shared.directives import REPLY_TAG
from shared.ircv3.message import Message
from tests.support.ergo_server import ErgoServer
from tests.support.full_disk import full_disk
from tests.support.gap_stage import GapStage, Subject, gap_stage
from tests.support.gap_table import Say
from tests.support.local_run import firehose

SUBJECT = "a task"


async def _answer(stage: GapStage, subject: Subject) -> Message:
    return await stage.requester.hears(lambda m: m.tags.get(REPLY_TAG) == subject.said, 20)


async def test_what_a_full_disk_swallowed_is_sent_again_before_work_goes_on(
    private_ergo: Callable[[], Awaitable[ErgoServer]],
) -> None:
    ergo = await private_ergo()
    async with gap_stage(ergo) as stage:
        subject = Subject(SUBJECT)
        await stage.live(starts=False)
        await stage.play([subject], Say("!new {title}"))
        await _answer(stage, subject)
        await stage.find([subject])
        await stage.enter([subject])
        await stage.quiet()
        with full_disk(ergo):
            await stage.play([subject], Say("!ready"))
            await stage.requester.hears_text(CAUSE, 20)
            await stage.play([subject], Say("!unready"))
            refused = await _answer(stage, subject)
            assert CAUSE in refused.text
            assert [r.event.kind for r in await firehose(stage.requester)] == ["task_created"]
        await stage.requester.hears_text("stores history again", 20)
        records = await firehose(stage.requester)
        assert [(r.id, r.event.kind) for r in records] == [
            (1, "task_created"),
            (2, "status"),
            (3, "task_ready"),
        ]
        await stage.play([subject], Say("!unready"))
        await _answer(stage, subject)
        assert [r.id for r in await firehose(stage.requester)] == [1, 2, 3, 4]
        assert (await stage.facts(subject)).status == "pending"
