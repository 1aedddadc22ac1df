from __future__ import annotations

from typing import Any

import pytest

from controller.effects import Job, Publish, Telemetry
from controller.telemetry import masked
from shared.firehose import Event
from tests.support.core_story import Story

START = {"kind": "tool_call_start", "tool": "bash", "args": "ls -l"}
END = {"kind": "tool_call_end", "tool": "bash", "ok": True, "duration_ms": 12}


@pytest.mark.parametrize(
    ("payload", "fields"),
    [
        (START, {"worker": "HAL-9000", "tool": "bash", "args": "ls -l"}),
        (END, {"worker": "HAL-9000", "tool": "bash", "ok": True, "duration_ms": 12}),
    ],
)
def test_tool_calls_become_events(payload: dict[str, Any], fields: dict[str, Any]) -> None:
    event = Event(payload["kind"], "#task-1", None, fields)
    jobs = Story().running().telemetry(payload)
    assert jobs == [Job("telemetry #task-1", (Publish(event),))]


def test_arguments_are_left_out_where_the_operator_says_so() -> None:
    (job,) = Story(firehose_args="none").running().telemetry(START)
    assert isinstance(job.effects[0], Publish)
    assert "args" not in job.effects[0].event.fields


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(Telemetry("alice", "1.1.0", START), id="a person"),
        pytest.param(Telemetry("HAL-9000", "1.2.0", START), id="another attempt"),
        pytest.param(Telemetry("HAL-9000", "2.1.0", START), id="another task"),
        pytest.param(Telemetry("HAL-9000", "", START), id="no tag"),
        pytest.param(Telemetry("HAL-9000", "1.1.0", {"kind": "status"}), id="another kind"),
        pytest.param(Telemetry("HAL-9000", "1.1.0", {}), id="nothing"),
    ],
)
def test_nothing_is_published_for(told: Telemetry) -> None:
    assert Story().running().feed(told) == []


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ("curl -H 'Authorization: Bearer abc123'", "curl -H 'Authorization: Bearer ***"),
        ("export API_KEY=sk-12", "export API_KEY=***"),
        ("echo ghp_0123456789abcdef0123456789abcdef01", "echo ***"),
        ("x " * 60, "x " * 38 + "x…"),
    ],
)
def test_secrets_are_masked_and_the_rest_is_cut(args: str, shown: str) -> None:
    assert masked(args) == shown
