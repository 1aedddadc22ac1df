import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.firehose import KINDS, Event, FirehoseError, Record, decode, encode

VALUES: dict[str, Any] = {
    "title": "fix it", "requester": "alice", "field": "model", "value": "claude-opus-5",
    "priority": 2, "front": True, "assignee": "HAL-9000", "worker": "HAL-9000",
    "pod": "local-42", "model": "claude-sonnet-4-6", "attempt": 1, "status": "blocked",
    "prev_status": "in_progress", "rev": 4, "seq": 3, "reason": "question: which?",
    "question": "which?", "waits_for": "alice", "tool": "bash", "args": "make test", "ok": True,
    "duration_ms": 12, "perm_id": "1-1", "granted": False, "by": "bob", "cost_usd": 0.5,
    "tokens_in": 10, "tokens_out": 5, "times": {"rev": 4, "ready": 1},
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_reads_back_and_its_line_is_golden(kind: str) -> None:
    fields = {name: VALUES[name] for name in KINDS[kind]}
    event = Event(kind, "#web-task-1", "web", fields, cause="m1", at="#tasks")
    line = encode(event, 7, 1_800_000_000.1234)
    assert decode(line) == Record(7, 1_800_000_000.123, event)
    body = "".join(f',"{n}":{json.dumps(v, separators=(",", ":"))}' for n, v in fields.items())
    assert line == (
        f'{{"v":1,"id":7,"t":1800000000.123,"kind":"{kind}","task":"#web-task-1","repo":"web"'
        f'{body},"cause":"m1","at":"#tasks"}}'
    )  # fmt: skip


def test_absent_values_are_left_out_and_a_task_without_repo_says_null() -> None:
    event = Event("task_ready", "#task-1", None, {"priority": None, "front": True})
    assert encode(event, 1, 2.0) == (
        '{"v":1,"id":1,"t":2.0,"kind":"task_ready","task":"#task-1","repo":null,"front":true}'
    )


@given(st.text(), st.text(min_size=0, max_size=2000))
def test_a_long_text_is_cut_and_the_json_never_is(reason: str, question: str) -> None:
    fields = {"status": "blocked", "prev_status": "in_progress", "rev": 3, "reason": reason,
              "question": question}  # fmt: skip
    line = encode(Event("status", "#task-1", None, fields, cause="x" * 22), 1, 2.0)
    assert len(line.encode()) <= 400
    record = decode(line)
    assert record.event.cause == "x" * 22
    whole = (record.event.fields["reason"], record.event.fields["question"]) == (reason, question)
    assert record.event.cut is not whole


def test_an_event_of_names_alone_that_is_too_long_is_refused() -> None:
    with pytest.raises(FirehoseError, match="does not fit"):
        encode(Event("task_completed", "#task-1", None, {"by": "b" * 500}), 1, 2.0)


def test_a_field_that_the_kind_does_not_have_is_refused() -> None:
    with pytest.raises(FirehoseError, match="task_ready has no field colour"):
        Event("task_ready", "#task-1", None, {"colour": "red"})


def test_unknown_kinds_and_fields_are_kept() -> None:
    line = '{"v":1,"id":1,"t":2,"kind":"moon_rise","phase":"full"}'
    assert decode(line).event == Event("moon_rise", fields={"phase": "full"})
    record = decode('{"v":1,"id":1,"t":2,"kind":"task_ready","task":"#task-1","colour":"red"}')
    assert record.event.fields == {"colour": "red"}


@pytest.mark.parametrize(
    "line",
    [
        "",
        "hello",
        "[]",
        '{"v":1}',
        '{"v":9,"id":1,"t":1,"kind":"x"}',
        '{"v":1,"id":1,"t":1e999,"kind":"x"}',
        '{"v":1,"id":1e999,"t":1,"kind":"x"}',
        '{"v":1,"id":1,"t":1,"kind":"x","task":5}',
    ],
)
def test_what_is_no_event_is_refused(line: str) -> None:
    with pytest.raises(FirehoseError):
        decode(line)
