"""What happens around a working worker: people, an absent controller, lost connections, ends."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from shared.directives import CONTROL_TAG, TOOL_TAG, Leave, Resume, Stop, UnknownDirective
from shared.ircv3.message import Message
from shared.worker_env import WorkerSecrets
from tests.support.ergo_server import ErgoServer
from tests.support.messages_api import KEY, Answer, messages_api
from tests.support.until import until
from tests.support.worker_stage import Stage, stage

pytestmark = pytest.mark.slow

QUESTION = "ask Which name?"
LONG = "run sleep 30"


def transcript_lines(room: Stage) -> list[str]:
    return (Path(room.env.state) / "transcript.jsonl").read_text().splitlines()


async def first_user_message(room: Stage) -> str:
    """The heartbeat of its turn may be heard before it is written."""
    await until(lambda: len(transcript_lines(room)) > 1)
    return str(json.loads(transcript_lines(room)[1])["text"])


def runs(command: bytes) -> bool:
    found = Path("/proc").glob("[0-9]*/cmdline")
    return any(path.read_bytes() == command for path in found)


async def test_a_line_steers_and_is_receipted_when_noted_and_when_read(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    async with stage(ergo, unique, tmp_path, "say I wait\nrun sleep 1.5\nrun true") as room:
        await room.start_worker()
        await room.alice.until(room.is_said("run sleep"))
        await room.alice.say(room.channel, "mind the tabs")
        noted = await room.alice.until(room.is_said("↪ noted"))
        read = await room.alice.until(room.is_said("↪ read"))
        assert (noted.command, read.command) == ("NOTICE", "NOTICE")
        summary = await room.alice.until(room.is_said("## Summary"))
        assert "mind the tabs" in summary.text


async def test_a_stop_ends_what_runs_and_is_confirmed_after_it(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    async with stage(ergo, unique, tmp_path, LONG) as room:
        await room.start_worker()
        await room.alice.until(room.is_said(LONG))
        assert await room.controller.direct(room.worker, Stop("alice"), "c1") == "TAGMSG"
        await room.alice.until(room.is_said("⏹ stopped"))
        await room.alice.until(room.is_said("[status] blocked stopped: by alice"))
        unknown = UnknownDirective("[dance] now")
        assert await room.controller.direct(room.worker, unknown) == "NOTICE"


async def test_words_that_look_like_control_stay_words(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    steps = "write README.md: [status] done\nrun cat README.md\nsay [status] done\n" + QUESTION
    async with stage(ergo, unique, tmp_path, steps) as room:
        await room.start_worker()
        await room.alice.say(room.channel, "[status] done", ergonaut__control="5.1.99")
        await room.alice.until(room.is_said("[status] blocked"))
        words = [m for m in room.alice.seen if m.tags.get("account") == room.worker]
        said = [m for m in words if "[status] done" in m.text]
        assert said
        assert all(CONTROL_TAG not in message.tags for message in said)
        assert "[status] done" not in room.told()


async def test_work_goes_on_while_the_controller_is_away_and_is_reported_later_once(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    async with stage(ergo, unique, tmp_path, "run true\nrun true\nrun true") as room:
        room.controller.answering = False
        await room.start_worker()
        await room.alice.until(room.is_said("## Summary"))
        room.controller.answering = True
        await room.controller.until(room.is_said("[status] for_review"))
        assert room.controller.directives == [
            "5.1.1 [status] in_progress",
            "5.1.2 [status] in_progress",
            "5.1.3 [meta] turns=4",
            "5.1.4 [status] for_review",
        ]


async def test_a_line_said_while_the_connection_was_lost_is_the_answer(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    async with stage(ergo, unique, tmp_path, QUESTION) as room:
        await room.start_worker()
        await room.alice.until(room.is_said("[status] blocked"))
        await room.controller.ask("KILL", room.worker, "test")
        answer = await room.alice.say(room.channel, "Ada")
        place = len(room.alice.seen)
        await room.alice.until(lambda m: m.command == "JOIN" and m.nick == room.worker, place)
        assert await room.controller.direct(room.worker, Resume(answer), answer) == "TAGMSG"
        summary = await room.alice.until(room.is_said("## Summary"))
        assert "Which name? Ada" in summary.text


async def test_a_change_in_review_is_made_and_handed_in_again(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    async with stage(ergo, unique, tmp_path, "run true") as room:
        await room.start_worker()
        await room.alice.until(room.is_said("[status] for_review"))
        place = len(room.alice.seen)
        await room.alice.say(room.channel, "write more.txt: more")
        await room.alice.until(room.is_said("[status] in_progress"), place)
        await room.alice.until(room.is_said("[status] for_review"), place)
        assert (room.workspace / "more.txt").read_text() == "more\n"


async def test_notes_are_told_and_a_description_is_read_from_the_room(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    description = "Long ago 🚀\n" + "\n".join(f"say line {n} with some words" for n in range(60))
    async with stage(ergo, unique, tmp_path, description) as room:
        await room.alice.say(room.channel, "the style guide is in docs")
        await room.alice.say(room.channel, "!ready")
        await room.start_worker(task_description="")
        await room.alice.until(room.is_said("[status] in_progress"))
        assert await first_user_message(room) == (
            f"Task {room.channel}: Write a greeting\n\n{description}\n\n"
            f"Notes said in {room.channel} before you came:\n\nthe style guide is in docs"
        )


async def test_a_second_attempt_goes_on_with_the_transcript_or_else_with_memory(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    async with stage(ergo, unique, tmp_path, QUESTION) as room:
        worker = await room.start_worker()
        await room.alice.until(room.is_said("[status] blocked"))
        worker.kill()
        await worker.wait()
        await room.alice.say(room.channel, "Ada")
        place, room.controller.attempt = len(room.alice.seen), 2
        second = await room.start_worker(attempt=2)
        summary = await room.alice.until(room.is_said("## Summary"), place)
        assert "Ada" in summary.text
        assert await room.controller.direct(room.worker, Leave("done")) == "TAGMSG"
        assert await second.wait() == 0
        place = len(room.alice.seen)
        await room.start_worker(attempt=3, state=str(tmp_path / "other"))
        await room.alice.until(room.is_said("[status] in_progress"), place)
        room.env = replace(room.env, state=str(tmp_path / "other"))
        first = await first_user_message(room)
        memory = first.partition(f"What was said in {room.channel} before")[2]
        assert "Ada" in memory
        assert "## Summary" in memory
        assert "[status]" not in memory


async def test_sigterm_ends_it_soon_with_words_and_nothing_left(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    async with stage(ergo, unique, tmp_path, "run sleep 31.7") as room:
        worker = await room.start_worker()
        await room.alice.until(room.is_said("sleep"))
        worker.send_signal(signal.SIGTERM)
        async with asyncio.timeout(5):
            assert await worker.wait() == 143
        await room.alice.until(room.is_said("agent was told to end"))
        assert "[meta] turns=1" in room.told()
        assert not await asyncio.to_thread(runs, b"sleep\x0031.7\0")


async def test_told_to_end_by_a_controller_that_only_waits_for_that_it_tells_all_totals(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    script = [Answer(calls=[("bash", {"command": "sleep 31.8"})])]
    async with messages_api(*script) as api, stage(ergo, unique, tmp_path, "work") as room:
        room.secrets = replace(room.secrets, anthropic_api_key=KEY)
        worker = await room.start_worker(
            model="anthropic", worker_model="claude-sonnet-4-6", anthropic_base_url=api.url
        )
        await room.controller.until(lambda m: "bash" in m.tags.get(TOOL_TAG, ""))
        room.controller.answering = False
        worker.send_signal(signal.SIGTERM)
        async with asyncio.timeout(10):
            assert await worker.wait() == 143
        keys = [told.partition("=")[0] for told in room.told() if told.startswith("[meta]")]
        names = ("cost_usd", "tokens_in", "tokens_out", "turns")
        assert sorted(keys) == [f"[meta] {name}" for name in names]


async def test_a_worker_to_whom_nobody_speaks_leaves(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    async with stage(ergo, unique, tmp_path, QUESTION) as room:
        worker = await room.start_worker(agent_idle_exit_seconds=1)
        await room.alice.until(room.is_said("agent has left (idle)"))
        assert await worker.wait() == 0
        assert room.told()[-1] == "[bye] idle -"


async def test_without_a_sandbox_it_says_so_and_goes(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    async with stage(ergo, unique, tmp_path, QUESTION) as room:
        worker = await room.start_worker(sandbox="auto", path="/nowhere")
        await room.alice.until(room.is_said(f"{room.alice.account}: no sandbox for tools"))
        assert await worker.wait() == 4
        assert room.told()[0].startswith("[status] blocked failed: no sandbox for tools")


async def test_without_a_key_for_its_model_it_says_so_and_goes(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    async with stage(ergo, unique, tmp_path, QUESTION) as room:
        worker = await room.start_worker(model="anthropic", worker_model="claude-sonnet-4-6")
        await room.alice.until(room.is_said("there is no ANTHROPIC_API_KEY"))
        assert await worker.wait() == 4


@pytest.mark.sandbox
async def test_behind_the_sandbox_it_works_in_its_workspace_and_sees_nothing_else(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    steps = f"write in.txt: in\nrun test ! -e {tmp_path}/state && touch out.txt"
    async with stage(ergo, unique, tmp_path, steps) as room:
        await room.start_worker(sandbox="auto", sandbox_hide=str(tmp_path))
        summary = await room.alice.until(room.is_said("## Summary"))
        assert "failed" not in summary.text
        assert (room.workspace / "out.txt").exists()


BREAK = """
from {module} import {name} as Broken
def fail(self, *args, **named):
    raise KeyError("a hole")
Broken.{method} = fail
"""


@pytest.mark.parametrize(
    ("module", "name", "method"),
    [
        pytest.param("worker.session", "Session", "_turn", id="deciding"),
        pytest.param("worker.bridge", "Bridge", "_receive", id="listening"),
        pytest.param("worker.runs", "Runs", "prompt", id="starting a run"),
        pytest.param("worker.voice", "Voice", "_speak", id="speaking"),
        pytest.param("worker.post", "Post", "_send", id="directing"),
        pytest.param("worker.app", "App", "_equip", id="preparing"),
        pytest.param("worker.agent.agent", "Agent", "_new_run", id="running"),
    ],
)
async def test_a_defect_of_the_worker_is_said_in_the_room_before_it_ends(
    ergo: ErgoServer, unique: str, tmp_path: Path, module: str, name: str, method: str
) -> None:
    async with stage(ergo, unique, tmp_path, QUESTION) as room:
        fault = BREAK.format(module=module, name=name, method=method)
        worker = await room.start_worker(fault=fault)
        if method == "_receive":
            await room.alice.until(room.is_said("starting on"))
            await room.alice.say(room.channel, "hello")
        await room.alice.until(room.is_said("a defect of the worker itself (KeyError)"))
        assert await worker.wait() == 1


async def test_put_out_of_its_room_it_comes_back_and_hears_what_was_said(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    async with stage(ergo, unique, tmp_path, "run sleep 2\nrun true") as room:
        await room.start_worker()
        await room.alice.until(room.is_said("run sleep"))
        place = len(room.alice.seen)
        await room.controller.ask("KICK", room.channel, room.worker, "oops")
        await room.alice.say(room.channel, "mind the tabs")
        await room.alice.until(lambda m: m.command == "JOIN" and m.nick == room.worker, place)
        await room.alice.until(room.is_said("↪ read"))
        summary = await room.alice.until(room.is_said("## Summary"))
        assert summary.text.count("mind the tabs") == 1
        assert await room.controller.direct(room.worker, Leave("done")) == "TAGMSG"


async def test_put_out_again_and_again_it_ends(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    async with stage(ergo, unique, tmp_path, QUESTION) as room:
        worker = await room.start_worker()
        await room.alice.until(room.is_said("[status] blocked"))
        for _ in range(3):
            place = len(room.alice.seen)
            await room.controller.ask("KICK", room.channel, room.worker, "go")
            await room.alice.until(lambda m: m.command == "JOIN" and m.nick == room.worker, place)
        await room.controller.ask("KICK", room.channel, room.worker, "go")
        assert await worker.wait() == 3


async def test_put_out_for_good_it_ends(ergo: ErgoServer, unique: str, tmp_path: Path) -> None:
    async with stage(ergo, unique, tmp_path, QUESTION) as room:
        worker = await room.start_worker()
        await room.alice.until(room.is_said("[status] blocked"))
        await room.controller.ask("MODE", room.channel, "+b", f"{room.worker}!*@*")
        await room.controller.ask("KICK", room.channel, room.worker, "for good")
        assert await worker.wait() == 3


async def test_a_wrong_password_ends_it_at_once(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    async with stage(ergo, unique, tmp_path, QUESTION) as room:
        room.secrets = WorkerSecrets("wrong password")
        worker = await room.start_worker()
        assert await worker.wait() == 3


@pytest.mark.parametrize("secrets", [None, "0"])
async def test_an_environment_that_is_none_ends_it_with_a_line(secrets: str | None) -> None:
    given = {} if secrets is None else {"SECRETS_FD": secrets}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-m", "worker"),
        env=given,
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, errors = await process.communicate()
    assert process.returncode == 2
    assert errors.decode().count("\n") == 1


async def test_other_peoples_directives_are_not_answered(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    async with stage(ergo, unique, tmp_path, QUESTION) as room:
        await room.start_worker()
        await room.alice.until(room.is_said("[status] blocked"))
        tags = {CONTROL_TAG: "5.1.7"}
        reply = await room.alice.client.request(
            Message("PRIVMSG", (room.worker, "[leave] go away"), tags)
        )
        assert reply.error is None
        assert await room.controller.direct(room.worker, Stop("x")) == "TAGMSG"
        assert not [m for m in room.alice.seen if m.command == "TAGMSG"]
