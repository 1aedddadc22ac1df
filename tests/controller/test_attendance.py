from __future__ import annotations

from typing import Any

import pytest

from controller.effects import Say
from tests.support.core_story import Story, answers, only, said


def test_who_joins_a_draft_sees_what_it_has_and_lacks() -> None:
    story = Story().drafted()
    story.say("a note", "#task-1")
    assert only(story.join("alice"), Say) == [
        Say(
            "#task-1",
            (
                "#task-1 is a draft: title “Write a haiku”, description of 13 bytes, no repo, "
                "model claude-test, 1 note so far; !ready starts it",
            ),
            notice=True,
        )
    ]
    assert story.join("alice") == []


@pytest.mark.parametrize(
    ("nick", "more"),
    [
        pytest.param("guest", {"account": None}, id="a stranger"),
        pytest.param("controller", {}, id="ourselves"),
        pytest.param("alice", {"live": False}, id="somebody who was there"),
    ],
)
def test_nothing_is_said_to(nick: str, more: dict[str, Any]) -> None:
    assert Story().drafted().join(nick, **more) == []


def test_a_line_for_a_person_uses_the_nick_in_the_room() -> None:
    story = Story().running()
    story.join("alice_phone", account="alice")
    (line,) = said(story.report("[status] for_review", 1))
    assert line.startswith("alice_phone: ")
    story.leave("alice_phone")
    (line,) = said(story.report("[status] in_progress", 2))
    assert said(story.report("[status] for_review", 3))[0].startswith("alice: ")


def test_running_is_said_on_evidence_only() -> None:
    story = Story()
    story.sweep()

    def worker() -> str:
        return answers(story.say("!status 1"))[2].removeprefix("#task-1: ")

    story.drafted()
    assert worker() == "no worker yet"
    story.say("!ready", "#task-1")
    story.spawned()
    who = "worker H\u200bAL-9000, attempt 1"
    assert worker() == f"{who}, starting"
    story.join("HAL-9000")
    story.now += 90
    assert worker() == f"{who}, here for 1 min"
    story.leave("HAL-9000")
    assert worker() == f"{who}, alive, not in the channel"
    story.ended("error")
    assert worker() == f"{who}, has left (error)"


def test_one_session_of_two_that_leaves_is_no_absence() -> None:
    story = Story().running()
    story.join("HAL-2", account="HAL-9000")
    story.leave("HAL-9000")
    assert story.board.live("#task-1").present_since is not None
    story.leave("HAL-2")
    assert story.board.live("#task-1").present_since is None
    assert story.board.live("#task-1").absent_since == story.now
