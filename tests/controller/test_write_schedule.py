"""State writes of one channel: one at a time, a pause after each reply, the newest value only."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.write_schedule import (
    PAUSE_SECONDS,
    Write,
    WriteSchedule,
    metadata_write,
    mode_write,
    topic_write,
)


def _status(value: str) -> Write:
    return metadata_write("#task-1", "status", value)


def test_the_next_write_waits_for_the_reply_and_the_pause() -> None:
    schedule = WriteSchedule()
    schedule.put(_status("ready"))
    schedule.put(topic_write("#task-1", "[ready] x"))
    assert schedule.take(10.0) == _status("ready")
    assert schedule.next_at() is None
    assert schedule.take(20.0) is None
    schedule.replied(20.0, accepted=True)
    assert schedule.next_at() == 20.0 + PAUSE_SECONDS
    assert schedule.take(20.04) is None
    assert schedule.take(20.05) == topic_write("#task-1", "[ready] x")


def test_a_newer_value_takes_the_place_of_a_queued_one() -> None:
    schedule = WriteSchedule()
    schedule.put(_status("ready"))
    schedule.put(metadata_write("#task-1", "run", "{}"))
    schedule.put(_status("in_progress"))
    assert schedule.take(0.0) == _status("in_progress")
    schedule.replied(0.0, accepted=True)
    assert schedule.take(1.0) == metadata_write("#task-1", "run", "{}")
    schedule.replied(1.0, accepted=True)
    assert schedule.take(2.0) is None


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(topic_write("#task-1", "[done] x"), id="topic"),
        pytest.param(mode_write("#task-1", "M", on=True), id="mode"),
    ],
)
def test_what_stands_is_right_until_something_else_is_accepted(write: Write) -> None:
    schedule = WriteSchedule()
    other = Write(write.key, metadata_write("#task-1", "other", None).message, once=True)
    assert not schedule.is_right(write)
    _carry_out(schedule, write)
    assert schedule.is_right(write)
    _carry_out(schedule, other)
    assert not schedule.is_right(write)


def test_a_refused_write_does_not_stand() -> None:
    schedule = WriteSchedule()
    topic = topic_write("#task-1", "[done] x")
    _carry_out(schedule, topic, accepted=False)
    assert not schedule.is_right(topic)


def test_metadata_is_never_taken_for_right() -> None:
    schedule = WriteSchedule()
    _carry_out(schedule, _status("done"))
    assert not schedule.is_right(_status("done"))


def test_what_was_read_from_the_server_counts_as_set() -> None:
    schedule = WriteSchedule()
    schedule.note(topic_write("#task-1", "[done] x"))
    assert schedule.is_right(topic_write("#task-1", "[done] x"))


def _carry_out(schedule: WriteSchedule, write: Write, *, accepted: bool = True) -> None:
    schedule.put(write)
    now = schedule.next_at() or 0.0
    assert schedule.take(now) == write
    schedule.replied(now, accepted=accepted)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.text("xyz", min_size=1, max_size=3))))
def test_the_last_value_of_each_key_is_written_and_never_two_at_once(
    puts: list[tuple[str, str]],
) -> None:
    schedule = WriteSchedule()
    sent: dict[str, Write] = {}
    now = last_reply = -1.0
    for key, value in puts:
        schedule.put(metadata_write("#task-1", key, value))
    while (at := schedule.next_at()) is not None:
        assert at == 0.0 or at >= last_reply + PAUSE_SECONDS
        now = at
        write = schedule.take(now)
        assert write is not None
        assert schedule.take(now) is None
        last_reply = now + 0.01
        schedule.replied(last_reply, accepted=True)
        assert write.key not in sent
        sent[write.key] = write
    assert sent == {
        f"metadata {key}": metadata_write("#task-1", key, value)
        for key, value in dict(puts).items()
    }
