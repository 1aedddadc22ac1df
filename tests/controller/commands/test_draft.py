from __future__ import annotations

import pytest

from controller.effects import PostDescription, SetMetadata, SetTopic
from shared import description
from shared.task import Status
from tests.support.core_story import Story, answers, only


def test_a_description_of_several_lines_is_stored_byte_for_byte() -> None:
    text = 'Überschrift ✨\n\n  two  spaces\nand "quotes"\n' + "長い " * 900 + "end"
    story = Story()
    jobs = story.say(f"!new {text}")
    assert story.task().description == text
    assert only(jobs, PostDescription) == [PostDescription("#task-1", text)]
    written: dict[str, str] = {}
    for effect in only(jobs, SetMetadata):
        written |= {k: v for k, v in effect.values.items() if v is not None}
    assert description.from_pieces(written) == text
    lines, size = len(text.splitlines()), len(text.encode())
    assert answers(jobs)[1].startswith(f"taken: {lines} lines, {size:,} bytes, ending in “")


def test_a_description_that_is_too_long_is_refused_whole() -> None:
    story = Story()
    (line,) = answers(story.say("!new " + "x" * 16_000))
    assert line == (
        "alice: !new takes at most 16,000 bytes and this is 16,002; nothing was stored. "
        "Shorten it, or put the rest where the worker can read it"
    )
    assert list(story.board) == []
    assert story.board.next_number == 1


@pytest.mark.parametrize("text", ["\u200b", "\u202e \x07", "\u2066\u2069"])
def test_a_description_of_nothing_that_can_be_seen_is_refused(text: str) -> None:
    story = Story()
    (line,) = answers(story.say(f"!new {text}"))
    assert line.startswith("alice: nothing can be seen of that description; usage: !new")
    story.drafted()
    (line,) = answers(story.say(f"!desc {text}", "#task-1"))
    assert line.startswith("alice: usage: !desc")
    assert story.task().description == "Write a haiku"


def test_a_title_takes_nothing_over_that_acts_on_the_words_after_it() -> None:
    story = Story()
    text = "\u202eright\x07 \x1b[31mto left 👩‍💻\nשלום"
    story.say(f"!new {text}")
    assert story.task().title == "right [31mto left 👩‍💻"
    assert story.task().description == text


def test_two_tasks_of_the_same_moment_have_two_numbers() -> None:
    story = Story().drafted("One", nick="alice").drafted("Two", nick="bob")
    assert [(t.number, t.title, t.requester) for t in story.board] == [
        (1, "One", "alice"),
        (2, "Two", "bob"),
    ]


def test_an_addition_goes_to_the_end_and_a_shorter_text_leaves_no_pieces() -> None:
    story = Story().drafted("x" * 900)
    story.say("!desc Short", "#task-1")
    story.say("!desc +and rhyming", "#task-1")
    assert story.task().description == "Short\nand rhyming"
    story = Story().drafted("x" * 900)
    jobs = story.say("!desc Short", "#task-1")
    assert only(jobs, SetMetadata)[-1] == SetMetadata(
        "#task-1", {"description.1": None, "description.2": None}
    )
    assert only(jobs, SetTopic) == [SetTopic("#task-1", "[pending] Short")]


def test_a_ready_description_is_frozen_until_unready() -> None:
    story = Story().queued()
    (line,) = answers(story.say("!desc Other", "#task-1"))
    assert line == (
        "alice: the description of #task-1 is frozen, for it is ready; "
        "!unready makes it a draft again"
    )
    story.say("!unready", "#task-1")
    story.say("!desc Other", "#task-1")
    assert (story.task().status, story.task().description) == (Status.PENDING, "Other")


def test_a_description_is_shown_to_anyone() -> None:
    story = Story().drafted("One\n\nTwo")
    assert answers(story.say("!desc", "#task-1", nick="guest", account=None)) == [
        "#task-1: the description has 2 lines",
        "One",
        "Two",
    ]


def test_the_place_in_the_queue_is_true() -> None:
    story = Story(max_active_total=1)
    story.sweep()
    for number in (1, 2, 3):
        story.say(f"!new Task {number}")
    story.say("!ready", "#task-1")
    assert answers(story.say("!ready", "#task-2")) == [
        "#task-2 is ready, place 1 of 1 in the queue; it starts when a slot is free"
    ]
    assert answers(story.say("!ready", "#task-3")) == [
        "#task-3 is ready, place 2 of 2 in the queue; it starts when a slot is free"
    ]


def test_an_addition_writes_only_the_pieces_that_differ() -> None:
    story = Story()
    story.say("!new " + "word " * 1000)
    before = description.to_pieces(story.task().description)
    (written,) = only(story.say("!desc +the end", "#task-1"), SetMetadata)
    last = f"description.{len(before) - 1}"
    assert set(written.values) == {"description.0", last}
    stored = before | {k: v for k, v in written.values.items() if v is not None}
    assert description.from_pieces(stored) == story.task().description
