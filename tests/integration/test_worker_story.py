"""A real worker process on the real server, from its first line to its last."""

from __future__ import annotations

from pathlib import Path

from shared.directives import CONTROL_TAG, Leave, Resume
from tests.support.ergo_server import ErgoServer
from tests.support.worker_stage import stage

DESCRIPTION = """Greet people.
write greeting.txt: hello
ask Which name?
run echo "hello {answer}" > greeting.txt
"""


async def test_a_task_is_started_asked_about_answered_and_handed_in(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    async with stage(ergo, unique, tmp_path, DESCRIPTION) as room:
        alice, controller = room.alice, room.controller
        worker = await room.start_worker()
        first = await alice.until(
            lambda m: m.tags.get("account") == room.worker and m.command == "PRIVMSG"
        )
        assert first.text == (
            f"starting on {room.channel} (a rehearsal: no model is asked; its tools run without a"
            " sandbox): Write a greeting"
        )
        question = await alice.until(room.is_said(f"{alice.account}: "))
        assert question.text == f"{alice.account}: Which name?"
        await alice.until(room.is_said("[status] blocked question: Which name?"))
        answer = await alice.say(room.channel, "Ada")
        assert await controller.direct(room.worker, Resume(answer), answer) == "TAGMSG"
        await alice.until(room.is_said("## Summary"))
        await alice.until(room.is_said("[status] for_review"))
        assert (room.workspace / "greeting.txt").read_text() == "hello Ada\n"
        assert await controller.direct(room.worker, Leave("completed by alice")) == "TAGMSG"
        await alice.until(lambda m: m.command == "PART")
        assert await worker.wait() == 0
        told = room.told()
        assert told[0] == "[status] in_progress"
        assert [t for t in told if "in_progress" not in t and "[meta]" not in t] == [
            "[status] blocked question: Which name?",
            "[status] for_review",
        ]
        assert "[meta] turns=2" in told
        words = [m for m in alice.seen if m.tags.get("account") == room.worker]
        tagged = [m.text for m in words if CONTROL_TAG in m.tags and m.command == "PRIVMSG"]
        assert all(text.startswith("[") for text in tagged)
