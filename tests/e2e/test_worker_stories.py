"""Workers that leave, hit their bounds, or lose the server, in the whole system."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from shared.ircv3.message import Message
from tests.support.irc_peer import Peer
from tests.support.local_run import (
    LocalRun,
    firehose,
    local_run,
    new_task,
    stored_task,
    until_topic,
)
from tests.support.messages_api import KEY, Answer, messages_api

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

ASK = "ask Which name?\nrun echo hello {answer} > greeting.txt"


async def test_a_worker_that_left_idle_comes_back_with_what_it_knew(
    ergo_binary: Path, tmp_path: Path
) -> None:
    settings = {"AGENT_IDLE_EXIT_SECONDS": "2"}
    async with (
        local_run(ergo_binary, tmp_path / "home", **settings) as run,
        run.person("alice") as alice,
    ):
        room = await new_task(alice, ASK)
        await alice.say(room, "!ready")
        await alice.hears_text("agent has left (idle)", 20)
        await alice.hears(lambda m: m.command == "PART", 5)
        assert (await stored_task(alice, room)).status == "blocked"
        await alice.say(room, "Ada")
        await until_topic(alice, room, "for_review")
        assert (run.workspace(room) / "greeting.txt").read_text() == "hello Ada\n"
        assert (await stored_task(alice, room)).run.attempt == 2


BASH = [("bash", {"command": "true"})]


@pytest.mark.parametrize(
    ("why", "settings", "replies", "way_on"),
    [
        pytest.param("turns", {"AGENT_MAX_TURNS": "2"}, 3, "with as many turns", id="turns"),
        pytest.param("budget", {"BUDGET_USD": "0.001"}, 3, "!budget <usd>", id="budget"),
        pytest.param("loop", {}, 6, "what to do differently", id="loop"),
        pytest.param(
            "deadline", {"JOB_ACTIVE_DEADLINE_SECONDS": "4"}, 1, "for as long again", id="deadline"
        ),
    ],
)
async def test_a_bound_blocks_with_its_reason_and_a_line_grants_more(
    ergo_binary: Path,
    tmp_path: Path,
    why: str,
    settings: dict[str, str],
    replies: int,
    way_on: str,
) -> None:
    calls = BASH if why != "deadline" else [("bash", {"command": "sleep 20"})]
    model = {"MODEL": "anthropic", "ANTHROPIC_API_KEY": KEY, "WORKER_MODEL": "claude-sonnet-4-6"}
    async with (
        messages_api(*[Answer("Again.", calls)] * replies) as api,
        local_run(
            ergo_binary, tmp_path / "home", ANTHROPIC_BASE_URL=api.url, **model, **settings
        ) as run,
        run.person("alice") as alice,
    ):
        room = await new_task(alice, "work")
        await alice.say(room, "!ready")
        said = await alice.hears_text(way_on, 30)
        assert said.text.startswith("alice: ")
        await until_topic(alice, room, "blocked")
        task = await stored_task(alice, room)
        assert (task.reason or "").startswith(f"{why}: ")
        assert task.usage.turns > 0
        api.script.clear()
        await alice.say(room, "go on, please")
        await until_topic(alice, room, "for_review")
        assert api.problems == []
        assert json.dumps(api.messages(-1)).count("go on, please") == 1


@pytest.mark.parametrize("moment", ["at work", "blocked"])
async def test_a_server_that_is_killed_costs_no_word_and_no_directive(
    run: LocalRun, moment: str
) -> None:
    task = "run sleep 3\nrun true" if moment == "at work" else "run true"
    async with run.person("alice") as alice:
        await alice.ask("JOIN", "#firehose")
        room = await new_task(alice, f"{task}\nask Which name?\nwrite who.txt: {{answer}}")
        await alice.say(room, "!ready")
        if moment == "at work":
            await alice.hears_text("Step 1", 20)
            await alice.say(room, "mind the tabs")
            await alice.hears_text("noted")
        else:
            await until_topic(alice, room, "blocked")
        await run.ergo.kill()
        await asyncio.sleep(0.5)
        await run.ergo.start()
        async with run.maintainer() as you:
            await _back_in(you, room)
            if moment == "at work":
                await until_topic(you, room, "blocked", 40)
            await you.say(room, "Ada")
            await until_topic(you, room, "for_review", 40)
            await you.ask("JOIN", "#firehose")
            statuses = [
                record.event.fields["status"]
                for record in await firehose(you)
                if record.event.kind == "status"
                and record.event.fields["status"] != record.event.fields.get("prev_status")
            ]
            assert statuses == [
                "pending", "ready", "in_progress", "blocked", "in_progress", "for_review",
            ][-len(statuses):]  # fmt: skip
            state = run.home.root / "state" / room.removeprefix("#") / "transcript.jsonl"
            log = await asyncio.to_thread(state.read_text)
            assert (run.workspace(room) / "who.txt").read_text() == "Ada\n", log
            told = log.count('"role":"user","text":"mind the tabs"')
            assert told == (1 if moment == "at work" else 0)


async def _back_in(peer: Peer, room: str) -> None:
    """The room is there again, with controller and worker in it."""
    await peer.ask("JOIN", room)
    for _ in range(200):
        names = await peer.client.request(Message("NAMES", (room,)))
        if "HAL" in " ".join(m.text for m in names.messages):
            return
        await asyncio.sleep(0.1)
    raise AssertionError("the worker did not come back")
