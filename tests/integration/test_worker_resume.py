"""A worker that is killed at any moment, and the next one on its workspace."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.ergo_server import ErgoServer
from tests.support.messages_api import KEY, Answer, messages_api
from tests.support.until import until
from tests.support.worker_stage import stage

CALLS = [
    ("bash", {"command": "echo one >one.txt"}),
    ("bash", {"command": "touch started; sleep 34.5"}),
]


def as_text(messages: list[dict[str, Any]]) -> str:
    blocks = [(message["role"], block) for message in messages for block in message["content"]]
    return "\n".join(json.dumps(block) for block in blocks)


@pytest.mark.parametrize(
    ("script", "moment"),
    [
        pytest.param([Answer("I th", ends="silent")], "asked", id="first reply streams"),
        pytest.param([Answer("I look.", CALLS)], "started", id="tools run"),
        pytest.param(
            [Answer("I look.", CALLS[:1]), Answer("I th", ends="silent")],
            "asked twice",
            id="reply after a tool streams",
        ),
    ],
)
async def test_a_killed_worker_goes_on_on_its_workspace(
    ergo: ErgoServer, unique: str, tmp_path: Path, script: list[Answer], moment: str
) -> None:
    async with messages_api(*script) as api, stage(ergo, unique, tmp_path, "work") as room:
        room.secrets = replace(room.secrets, anthropic_api_key=KEY)
        room.env = replace(
            room.env,
            model="anthropic",
            worker_model="claude-sonnet-4-6",
            anthropic_base_url=api.url,
        )
        worker = await room.start_worker()
        asked = {"asked": 1, "asked twice": 2, "started": 1}[moment]
        await until(lambda: len(api.requests) == asked, 15)
        if moment == "started":
            await until(lambda: (room.workspace / "started").exists(), 15)
        else:
            await asyncio.sleep(0.2)  # into the stream, which then brings nothing more
        worker.kill()
        await worker.wait()
        await room.alice.say(room.channel, "and hurry")
        room.controller.attempt = 2
        await room.start_worker(attempt=2)
        await room.alice.until(room.is_said("## Summary"))
        assert api.problems == []
        assert len(api.requests) == asked + 1
        before, after = (as_text(api.messages(asked - 1)), as_text(api.messages(asked)))
        assert after.startswith(before)
        news = after.removeprefix(before)
        assert "You are back" in news
        assert news.count("and hurry") == 1
