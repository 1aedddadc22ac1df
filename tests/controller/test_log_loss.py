"""While the server stores no history nothing is taken on, and nothing is lost by that."""

from __future__ import annotations

import pytest

from controller.effects import Confirm, Job, Say, SetMetadata, Tick, WorkersListed
from controller.log_loss import CAUSE
from controller.spawner import WorkerList
from shared.channels import TASKS
from tests.support.core_story import Story, answers, effects, only, said, spawns


def look(story: Story, *, lost: bool) -> list[Job]:
    story.now += 15
    found = WorkerList(tuple(story.alive.values()), complete=True)
    return story.feed(WorkersListed(found, story.now, log_lost=lost))


def test_it_is_said_once_when_it_begins_and_once_when_it_is_over() -> None:
    story = Story().running()
    (begins,) = only(look(story, lost=True), Say)
    assert (begins.target, begins.lines[0].startswith(CAUSE)) == (TASKS, True)
    assert look(story, lost=True) == []
    assert "work goes on" in said(look(story, lost=False))[0]
    assert look(story, lost=False) == []


@pytest.mark.parametrize("text", ["!unready", "!archive", "!desc New text"])
def test_a_command_that_changes_something_is_refused_with_the_cause(text: str) -> None:
    story = Story(max_active_total=0).queued()
    look(story, lost=True)
    assert CAUSE in answers(story.say(text, "#task-1"))[0]
    assert CAUSE in answers(story.say("!new Another one"))[0]
    assert story.task().status == "ready"
    assert len(story.board) == 1


def test_looking_is_still_answered() -> None:
    story = Story().running()
    look(story, lost=True)
    assert "#task-1" in answers(story.say("!tasks"))[0]
    assert "in progress" in answers(story.say("!status", "#task-1"))[0]


def test_nothing_is_started_or_swept_until_it_is_over() -> None:
    story = Story()
    look(story, lost=True)
    story.queued()
    assert len(story.board) == 0
    story = Story(max_active_total=0).queued()
    story.core.world.settings = Story().settings
    assert spawns(look(story, lost=True)) == []
    assert spawns(look(story, lost=False)) == [(1, 1)]


def test_a_worker_that_reports_is_not_confirmed_and_so_says_it_again() -> None:
    story = Story().running()
    look(story, lost=True)
    assert story.report("[status] for_review", 1) == []
    look(story, lost=False)
    assert only(story.report("[status] for_review", 1), Confirm)
    assert story.task().status == "for_review"


def test_an_answer_that_would_wake_a_task_is_asked_for_again() -> None:
    story = Story().blocked()
    look(story, lost=True)
    assert CAUSE in said(story.say("Autumn", "#task-1"))[0]
    assert story.task().status == "blocked"
    look(story, lost=False)
    story.say("Autumn", "#task-1")
    assert story.task().status == "in_progress"


def test_the_watermark_waits() -> None:
    story = Story().drafted()
    look(story, lost=True)
    story.handled(story.say("!ping"))
    assert only(story.feed(Tick()), SetMetadata) == []


def test_a_worker_that_is_lost_meanwhile_is_found_afterwards() -> None:
    story = Story().running()
    look(story, lost=True)
    story.alive.clear()
    assert effects(look(story, lost=True)) == []
    look(story, lost=False)
    assert (story.task().run.resumed, story.task().run.attempt) == (1, 2)
