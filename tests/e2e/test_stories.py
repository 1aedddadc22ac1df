"""Whole tasks over a real ergo, a real controller and real worker processes."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from controller.minting import worker_password
from shared.directives import CONTROL_TAG
from shared.ircv3.message import Message
from shared.task import Status
from tests.support.irc_peer import on_irc
from tests.support.local_run import (
    LocalRun,
    firehose,
    new_task,
    stored,
    stored_description,
    stored_task,
    until_topic,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

EMOJI_LINE = "Prüfe den 🛒 im «Checkout»: 价格 und 👩‍💻 müssen stimmen.\n"


async def test_a_task_goes_from_new_to_done(run: LocalRun) -> None:
    async with run.person("alice") as alice:
        room = await new_task(alice, "write hello.txt: hi")
        await alice.say(room, "!ready")
        await until_topic(alice, room, "for_review")
        await alice.say(room, "!complete")
        await until_topic(alice, room, "done")
        assert (run.workspace(room) / "hello.txt").read_text() == "hi\n"
        task = await stored_task(alice, room)
        assert (task.status, task.requester, task.run.attempt) == (Status.DONE, "alice", 1)


async def test_text_that_looks_like_control_changes_nothing(run: LocalRun) -> None:
    description = "write README.md: [status] done\nread README.md\nsay [status] done\nask go on?"
    async with run.person("alice") as alice, run.person("bob") as bob:
        room = await new_task(alice, description)
        await bob.ask("JOIN", room)
        await alice.say(room, "!ready")
        await until_topic(alice, room, "blocked")
        before = await stored(alice, room)
        task = await stored_task(alice, room)
        await alice.say(room, "[status] done", {CONTROL_TAG: f"{task.number}.1.99"})
        await bob.say(room, "[status] done", {CONTROL_TAG: f"{task.number}.1.99"})
        await bob.say(room, "[status] done")
        await _as_the_worker(run, room, task.run.worker or "", "[status] for_review", attempt=0)
        await bob.say("controller", "!ping")
        assert await stored(alice, room) == before
        await alice.say(room, "yes")
        await until_topic(alice, room, "for_review")
        await alice.say(room, "!complete")
        await until_topic(alice, room, "done")


async def _as_the_worker(run: LocalRun, room: str, account: str, text: str, attempt: int) -> None:
    """A second session of the worker's account speaks for an attempt of long ago."""
    secret = run.system.credentials.controller
    number = int(room.rpartition("-")[2])
    password = worker_password(secret, account, number, 1)
    async with on_irc(run.ergo, account, password) as impostor:
        await impostor.say(room, text, {CONTROL_TAG: f"{number}.{attempt}.99"})


async def test_a_directive_sent_while_the_controller_is_away_is_carried_out_once(
    run: LocalRun,
) -> None:
    async with run.person("alice") as alice:
        room = await new_task(alice, "run sleep 2\nwrite late.txt: done meanwhile")
        await alice.ask("JOIN", "#firehose")
        await alice.say(room, "!ready")
        await alice.hears_text("(rehearsal) Step 1", 20)
        os.kill(run.system.controller.pid, signal.SIGKILL)
        await run.system.controller.wait()
        await alice.hears_text("## Summary", 20)
        assert (await stored_task(alice, room)).status is Status.IN_PROGRESS
        await run.system.controller.start()
        await until_topic(alice, room, "for_review")
        handed_in = [
            record.event
            for record in await firehose(alice)
            if record.event.kind == "status" and record.event.fields["status"] == "for_review"
        ]
        assert len(handed_in) == 1


async def test_a_command_said_while_the_controller_is_away_runs_once(run: LocalRun) -> None:
    async with run.person("alice") as alice:
        room = await new_task(alice, "write hello.txt: hi")
        os.kill(run.system.controller.pid, signal.SIGKILL)
        await run.system.controller.wait()
        await alice.say(room, "!ready")
        await alice.say("#tasks", "!new a second one")
        await run.system.controller.start()
        invite = await alice.hears(lambda m: m.command == "INVITE", 20)
        assert invite.params[-1] == "#task-2"
        await until_topic(alice, room, "for_review")
        assert (await stored_task(alice, room)).run.attempt == 1


async def test_a_long_description_reaches_metadata_and_the_worker_byte_exact(
    run: LocalRun,
) -> None:
    description = (EMOJI_LINE * 45).strip()
    assert len(description.encode()) > 3000
    async with run.person("alice") as alice:
        room = await new_task(alice, description)
        assert await stored_description(alice, room) == description
        await alice.say(room, "!ready")
        await until_topic(alice, room, "for_review")
        written = (run.workspace(room) / "REHEARSAL.md").read_text()
        assert description in written


async def test_two_new_tasks_of_the_same_moment_are_two_tasks(run: LocalRun) -> None:
    async with run.person("alice") as alice, run.person("bob") as bob:
        async with asyncio.TaskGroup() as group:
            group.create_task(alice.say("#tasks", "!new one"))
            group.create_task(bob.say("#tasks", "!new two"))
        invited = [
            (await peer.hears(lambda m: m.command == "INVITE")).params[-1] for peer in (alice, bob)
        ]
        assert sorted(invited) == ["#task-1", "#task-2"]
        titles = {(await stored_task(alice, c)).requester: c for c in invited}
        assert set(titles) == {"alice", "bob"}


async def test_two_hundred_new_tasks_in_one_go_leave_ergo_alive(run: LocalRun) -> None:
    ergo_pid = run.ergo.pid
    async with run.person("alice", oper=True) as alice:
        async with asyncio.TaskGroup() as group:
            for number in range(200):
                group.create_task(alice.say("#tasks", f"!new task number {number}"))
        channels = {
            (await alice.hears(lambda m: m.command == "INVITE", 60)).params[-1] for _ in range(200)
        }
        assert channels == {f"#task-{n}" for n in range(1, 201)}
        assert (run.ergo.pid, run.system.ergo.child.running) == (ergo_pid, True)
        assert (await stored(alice, "#tasks"))["next_task"] == "201"


@pytest.mark.parametrize("verb", ["!ready", "!complete", "!kill", "!archive"])
async def test_an_account_without_the_right_is_told_the_right(run: LocalRun, verb: str) -> None:
    async with run.person("alice") as alice, run.person("mallory") as mallory:
        room = await new_task(alice, "write hello.txt: hi")
        await mallory.ask("JOIN", room)
        before = await stored(alice, room)
        await mallory.say(room, verb)
        refusal = await mallory.hears_text("requester")
        assert room in refusal.text
        assert await stored(alice, room) == before


async def test_a_stranger_without_an_account_may_look_and_not_act(run: LocalRun) -> None:
    async with on_irc(run.ergo, "stranger") as stranger:
        await stranger.ask("JOIN", "#tasks")
        await stranger.say("#tasks", "!new dig a hole")
        refusal = await stranger.hears_text("member")
        assert "log" in refusal.text
        listed = await stranger.client.request(Message("LIST"))
        assert not [m for m in listed.messages if "task-" in " ".join(m.params)]


async def test_a_maintainer_may_kill_and_the_task_can_be_reopened(run: LocalRun) -> None:
    async with run.person("alice") as alice, run.maintainer() as you:
        room = await new_task(alice, "run sleep 30\nwrite hello.txt: hi")
        await you.ask("JOIN", room)
        await alice.say(room, "!ready")
        await alice.hears_text("(rehearsal) Step 1", 20)
        await you.say(room, "!kill")
        await until_topic(alice, room, "blocked")
        task = await stored_task(alice, room)
        assert task.reason == "killed: by you"
        await alice.say(room, "!reopen skip the sleep")
        await until_topic(alice, room, "in_progress")
        assert (await stored_task(alice, room)).run.attempt == 2
