"""What the Messages API demands of a request, as strict as we know it to be."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

from worker.agent.request import is_blank

MAX_CACHE_MARKS = 4


def check_request(request: dict[str, Any]) -> None:
    """Raise AssertionError for anything that the API would answer with 400."""
    json.dumps(request, ensure_ascii=False).encode("utf-8")
    messages = request["messages"]
    assert messages, "no messages"
    roles = [message["role"] for message in messages]
    assert roles[0] == "user", "the first message is the user's"
    assert all(a != b for a, b in itertools.pairwise(roles)), f"roles in turn: {roles}"
    open_calls: list[str] = []
    seen: set[str] = set()
    for message in messages:
        blocks = message["content"]
        assert blocks, "empty message"
        if message["role"] == "user":
            _check_user(blocks, open_calls)
            open_calls = []
        else:
            assert not open_calls
            open_calls = _check_assistant(blocks, seen)
    assert not open_calls, f"calls without a result: {open_calls}"
    assert json.dumps(request).count('"cache_control"') <= MAX_CACHE_MARKS


def _check_user(blocks: list[dict[str, Any]], open_calls: list[str]) -> None:
    types = [block["type"] for block in blocks]
    results = [block for block in blocks if block["type"] == "tool_result"]
    assert types == ["tool_result"] * len(results) + ["text"] * (len(blocks) - len(results))
    assert [result["tool_use_id"] for result in results] == open_calls
    for block in blocks:
        for text in block["content"] if block["type"] == "tool_result" else [block]:
            assert not is_blank(text["text"]), "blank text"


def _check_assistant(blocks: list[dict[str, Any]], seen: set[str]) -> list[str]:
    calls = []
    for block in blocks:
        match block["type"]:
            case "text":
                assert not is_blank(block["text"]), "blank text"
            case "thinking":
                assert block["signature"], "unsigned thinking"
            case "tool_use":
                assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", block["id"])
                assert block["id"] not in seen, "an id is used twice"
                assert isinstance(block["input"], dict)
                seen.add(block["id"])
                calls.append(block["id"])
            case _:
                pass
    assert blocks[-1]["type"] not in ("thinking", "redacted_thinking")
    return calls
