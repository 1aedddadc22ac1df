from __future__ import annotations

from dataclasses import replace

import pytest

from controller.board import Board
from controller.effects import Handled, Job, SetMetadata, Tick
from controller.intake import join
from controller.rebuild import Rebuilt
from shared.firehose import Event, Record
from shared.task import Status, Task, Times
from tests.support.core_story import NOW, Story, answers, effects, only, said

LONG = "!new " + "a word and " * 31


def described(story: Story, number: int = 1) -> str:
    return story.task(number).description


def test_a_line_is_heard_once() -> None:
    story = Story()
    line = story.line("!new One")
    assert story.feed(line)
    assert story.feed(line) == []
    assert story.feed(replace(line, live=False)) == []
    assert len(list(story.board)) == 1


# Texts that clients cut


def test_a_cut_text_waits_for_its_rest_and_says_what_was_taken() -> None:
    story = Story()
    assert story.say(LONG) == []
    assert story.core.due_at() == story.now + 3
    story.now += 2.5
    assert story.say("the last word") == []
    story.now += 2.9
    assert story.feed(Tick()) == []
    story.now += 0.2
    jobs = story.feed(Tick())
    assert described(story) == LONG.removeprefix("!new ") + "the last word"
    size = len(described(story).encode())
    assert answers(jobs)[1] == (
        f"taken: 2 lines, {size} bytes, ending in “and a word and a word and the last word”"
    )
    assert story.core.due_at() is None


@pytest.mark.parametrize(
    ("more", "seconds"),
    [
        pytest.param({"nick": "bob"}, 1, id="another person"),
        pytest.param({"place": "#task-9"}, 1, id="another place"),
        pytest.param({}, 3.5, id="too late"),
    ],
)
def test_a_line_is_no_rest_when_it_is_from(more: dict[str, str], seconds: float) -> None:
    story = Story()
    story.say(LONG)
    story.now += seconds
    story.say("something else", **more)
    story.now += 3
    story.feed(Tick())
    assert described(story) == LONG.removeprefix("!new ").strip()


def test_a_command_ends_the_wait_and_keeps_the_order() -> None:
    story = Story()
    story.say(LONG)
    jobs = story.say("!tasks")
    assert [line.partition(" ")[0] for line in answers(jobs)] == ["#task-1", "\x02#task-1\x02"]


def test_a_stranger_is_refused_at_once() -> None:
    assert answers(Story().say(LONG, account=None)) != []


def test_a_whole_multiline_text_does_not_wait() -> None:
    story = Story()
    assert story.say("!new " + "x" * 400 + "\nsecond line")
    assert story.say("!new " + "y" * 900)


def test_missed_lines_are_joined_by_the_time_of_the_server() -> None:
    story = Story()
    story.say(LONG, live=False, at=NOW - 60)
    story.say("rest", live=False, at=NOW - 58)
    story.say("no rest", live=False, at=NOW - 50)
    assert described(story).endswith("and rest")


@pytest.mark.parametrize(
    ("last", "rest", "whole"),
    [
        pytest.param("one ", "two", "one two", id="space kept at the end"),
        pytest.param("one", " two", "one two", id="space kept at the start"),
        pytest.param("one", "two", "one two", id="space dropped by the client"),
        pytest.param("x" * 350, "yz", "x" * 350 + "yz", id="cut within a word by The Lounge"),
    ],
)
def test_pieces_are_joined_as_they_were_cut(last: str, rest: str, whole: str) -> None:
    assert join(last, last, rest) == whole


# After an absence


def rebuilt(answered: frozenset[str] = frozenset(), **causes: tuple[Record, ...]) -> Rebuilt:
    board = Board()
    board.put(
        Task(
            "#task-1",
            "Write a haiku",
            Status.READY,
            "alice",
            times=Times(1, {Status.PENDING: NOW, Status.READY: NOW}),
        )
    )
    return Rebuilt(board, causes, answered)


def record(kind: str, **fields: object) -> Record:
    return Record(1, NOW, Event(kind, "#task-1", None, fields))


def test_an_answered_command_is_skipped() -> None:
    story = Story(rebuilt(frozenset({"m1"})))
    assert story.say("!new Again", live=False) == []
    assert len(story.board) == 1


def test_a_command_of_the_log_is_answered_and_not_done_again() -> None:
    story = Story(rebuilt(m1=(record("status", status="ready", rev=1),)))
    jobs = story.say("!ready", "#task-1", live=False)
    assert answers(jobs) == ["!ready was carried out; #task-1 is ready now"]
    assert len(effects(jobs)) == 2
    assert story.task().times.rev == 1


def test_a_half_written_new_is_finished_with_the_same_number() -> None:
    start = rebuilt(m1=(record("task_created", title="Write", requester="alice"),))
    start.board.put(Task("#task-1", "Write", requester="alice", created=NOW))
    story = Story(start)
    (job,) = story.say("!new Write it all", live=False)
    assert [type(effect).__name__ for effect in job.effects] == [
        "MakeChannel",
        "PostDescription",
        "SetMetadata",
        "SetMetadata",
        "SetTopic",
        "Invite",
        "Say",
        "Answer",
        "Handled",
    ]
    assert described(story) == "Write it all"
    assert story.board.next_number == 2


def test_an_addition_of_the_log_is_not_added_twice() -> None:
    task = Task("#task-1", "a", requester="alice", description="a\nmore")
    start = rebuilt(m1=(record("task_updated", field="description", value="a\nmore"),))
    start.board.put(task)
    story = Story(start)
    story.say("!desc +more", "#task-1", live=False)
    assert described(story) == "a\nmore"


def test_a_command_that_is_too_old_is_not_run() -> None:
    story = Story(rebuilt())
    jobs = story.say("!unready", "#task-1", live=False, at=NOW - 301)
    assert answers(jobs) == ["alice: !unready for #task-1 expired, please send it again"]
    assert story.task().status is Status.READY
    assert story.say("hello", "#task-1", live=False, at=NOW - 301) == []
    jobs = story.say("!unready", "#task-1", live=False, at=NOW - 299)
    assert story.task().status is Status.PENDING


# The watermark


def watermarks(jobs: list[Job]) -> list[str | None]:
    return [e.values["watermark"] for e in only(jobs, SetMetadata) if "watermark" in e.values]


def test_the_watermark_moves_over_what_was_handled() -> None:
    story = Story()
    jobs = story.say("!new One", at=NOW + 0.25)
    assert watermarks(story.feed(Tick())) == []
    story.handled(jobs)
    assert watermarks(story.feed(Tick())) == [f"{NOW}.250"]
    assert watermarks(story.feed(Tick())) == []


def test_the_watermark_waits_for_a_text_that_is_not_whole() -> None:
    story = Story()
    story.say("hello", at=NOW)
    story.say(LONG, at=NOW + 1)
    assert watermarks(story.feed(Tick())) == []
    story.now += 10
    jobs = story.feed(Tick())
    assert watermarks(jobs) == []
    story.handled(jobs)
    assert watermarks(story.feed(Tick())) == [f"{NOW + 1}.000"]


def test_the_watermark_waits_for_a_line_that_woke_a_task() -> None:
    story = Story().blocked()
    for jobs in (story.say("hello"), story.say("!tasks")):
        story.handled(jobs)
    jobs = story.say("Autumn", "#task-1", at=NOW + 99)
    assert said(jobs)
    assert watermarks(story.feed(Tick())) == []


def test_the_watermark_waits_for_a_line_that_may_be_an_answer() -> None:
    story = Story().running()
    for msgid in ("m1", "m2"):
        story.feed(Handled(msgid, NOW))
    story.say("Autumn", "#task-1", at=NOW + 50)
    story.handled(story.say("!tasks", at=NOW + 60))
    assert watermarks(story.feed(Tick())) == [f"{NOW + 50}.000"]
    story.say("thank you", "#task-1", nick="HAL-9000")
    assert watermarks(story.feed(Tick())) == [f"{NOW + 60}.000"]
