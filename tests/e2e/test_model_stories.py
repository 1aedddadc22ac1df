"""Whole tasks with the real SDK against a server that speaks the Messages API."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from shared.ircv3.message import Message
from shared.task import Status
from tests.support.local_run import LocalRun, local_run, new_task, stored_task, until_topic
from tests.support.messages_api import KEY, Answer, MessagesApi, Refusal, messages_api

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def settings(api: MessagesApi, key: str = KEY) -> dict[str, str]:
    return {
        "MODEL": "anthropic",
        "ANTHROPIC_API_KEY": key,
        "ANTHROPIC_BASE_URL": api.url,
        "WORKER_MODEL": "claude-sonnet-4-6",
    }


WRITE = ("write", {"path": "hello.txt", "content": "hi\n"})


async def test_a_task_goes_from_new_to_done_through_all_that_passes(
    ergo_binary: Path, tmp_path: Path
) -> None:
    script = (
        Refusal(529, "overloaded_error", "Overloaded"),
        Answer("I beg", ends="overloaded"),
        Answer("I will write it.", calls=[WRITE]),
        Answer("Half of", ends="truncated"),
        Answer("Half of", ends="cut"),
        Refusal(429, "rate_limit_error", "slow down", {"retry-after": "1"}),
        Answer("## Summary\n- wrote hello.txt"),
    )
    async with (
        messages_api(*script) as api,
        local_run(ergo_binary, tmp_path / "home", **settings(api)) as run,
        run.person("alice") as alice,
    ):
        room = await new_task(alice, "write a greeting into hello.txt")
        await alice.say(room, "!ready")
        words: list[str] = []

        def is_handed_in(message: Message) -> bool:
            words.append(message.text)
            return message.command == "TOPIC" and message.text.startswith("[for_review]")

        await alice.hears(is_handed_in, 40)
        await alice.say(room, "!complete")
        await until_topic(alice, room, "done")
        assert (run.workspace(room) / "hello.txt").read_text() == "hi\n"
        assert api.problems == []
        assert len(api.requests) == 7
        assert api.messages(5) == api.messages(6)
        assert all("authorization" not in headers for headers in api.headers)
        retries = [word for word in words if "trying again" in word]
        assert len(retries) == 2, retries
        assert not [word for word in words if "I beg" in word or "Half of" in word]
        task = await stored_task(alice, room)
        assert task.usage.tokens_in == 100 * 5
        assert task.usage.cost_usd > 0


@pytest.mark.parametrize(
    ("key", "refusal", "words"),
    [
        pytest.param("sk-wrong-0123456789abcdefghij", None, "ANTHROPIC_API_KEY", id="wrong key"),
        pytest.param(
            KEY, Refusal(404, "not_found_error", "model: x"), "WORKER_MODEL", id="unknown model"
        ),
        pytest.param(
            KEY, Refusal(400, "invalid_request_error", "prompt is too long"), "too long", id="long"
        ),
    ],
)
async def test_what_no_retry_cures_is_said_once_and_blocks(
    ergo_binary: Path, tmp_path: Path, key: str, refusal: Refusal | None, words: str
) -> None:
    async with (
        messages_api(*([refusal] if refusal else [])) as api,
        local_run(ergo_binary, tmp_path / "home", **settings(api, key)) as run,
        run.person("alice") as alice,
    ):
        room = await new_task(alice, "write a greeting into hello.txt")
        await alice.say(room, "!ready")
        said = await alice.hears_text("the API answered", 20)
        assert words in said.text
        assert said.text.startswith("alice: ")
        await until_topic(alice, room, "blocked")
        task = await stored_task(alice, room)
        assert task.status is Status.BLOCKED
        assert (task.reason or "").startswith("failed: the API answered")
        assert len(api.requests) == 1
        assert key not in await asyncio.to_thread(_everything_in, run)
        if refusal:
            await alice.say(room, "!reopen try again")
            await until_topic(alice, room, "for_review")


def _everything_in(run: LocalRun) -> str:
    """All that is kept: transcripts, logs, ergo's history, workspaces."""
    files = [path for path in run.home.root.rglob("*") if path.is_file()]
    kept = [path for path in files if path != run.home.credentials_file]
    return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in kept)
