from __future__ import annotations

from typing import Any

import pytest

from controller.effects import Confirm, Job, Publish, Refuse, SetMetadata, SetTopic
from shared.directives import Bye, Meta, PermissionAsked, StatusReport
from shared.task import Status
from tests.support.core_story import Story, effects, only, said, spawns

DONE = "[status] for_review"
TAG = "+ergonaut/control"


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"tags": {}}, id="a worker's text without the tag"),
        pytest.param({"nick": "alice", "tags": {}}, id="a person's text"),
        pytest.param({"nick": "alice"}, id="a person with the tag"),
        pytest.param({"nick": "mia"}, id="a maintainer with the tag"),
        pytest.param({"nick": "GLaDOS"}, id="another account of the pool"),
        pytest.param({"nick": "HAL-9000", "account": None}, id="the nick without the account"),
        pytest.param({"nick": "HAL-9000", "account": "mallory"}, id="the nick of another account"),
        pytest.param({"attempt": 2}, id="an attempt that never was"),
        pytest.param({"number": 2, "place": "#task-1"}, id="the number of another task"),
        pytest.param({"place": "#task-2"}, id="the channel of another task"),
        pytest.param({"place": "#tasks"}, id="#tasks"),
        pytest.param({"place": "controller"}, id="a DM"),
        pytest.param({"tags": {TAG: "1.1"}}, id="a tag that is not whole"),
        pytest.param({"tags": {TAG: "1.1.x"}}, id="a tag that is no tag"),
    ],
)
def test_what_looks_like_a_directive_changes_nothing(more: dict[str, Any]) -> None:
    story = Story().running()
    story.say("!new Another")
    before = list(story.board)
    assert story.report(DONE, 1, **more) == []
    assert list(story.board) == before


def test_an_earlier_attempt_is_refused() -> None:
    story = Story().running()
    story.ended("evicted")
    story.spawned(attempt=2)
    story.join("HAL-9000")
    assert story.task().run.attempt == 2
    before = story.task()
    assert story.report(DONE, 9, attempt=1) == [
        Job("#task-1", (Refuse("HAL-9000", "m3", "attempt 1 is over"),))
    ]
    assert story.task() == before


def test_a_repeated_seq_is_confirmed_without_effect() -> None:
    story = Story().running()
    story.report(DONE, 1)
    before = story.task()
    assert story.report(DONE, 1) == [Job("#task-1", (Confirm("HAL-9000", "m4"),))]
    assert story.report("[status] in_progress", 1) == [Job("#task-1", (Confirm("HAL-9000", "m5"),))]
    assert story.task() == before


def test_a_repeated_refusal_is_refused_again() -> None:
    story = Story().blocked()
    why = "#task-1: it is blocked; what helps now: !reopen, !archive"
    for msgid in ("m4", "m5"):
        assert story.report("[status] in_progress", 2) == [
            Job("#task-1", (Refuse("HAL-9000", msgid, why),))
        ]
    assert story.task().status is Status.BLOCKED


def test_seqs_of_the_past_are_not_confirmed_again() -> None:
    story = Story().running()
    story.report(DONE, 1)
    assert story.report(DONE, 1, live=False) == []
    assert story.report("[status] in_progress", 2, live=False) != []


@pytest.mark.parametrize(
    ("reason", "stored"),
    [
        ("question: Which?", "question: Which?"),
        ("stopped: by alice", "stopped: by alice"),
        ("turns", "turns"),
        ("tool-time: bash", "tool-time: bash"),
        ("", None),
        ("tired", None),
        ("killed: by alice", None),
        ("vanished", None),
    ],
)
def test_a_worker_blocks_with_a_reason_of_its_own(reason: str, stored: str | None) -> None:
    story = Story().running()
    jobs = story.report(StatusReport(Status.BLOCKED, reason), 1)
    assert story.task().reason == stored
    assert bool(only(jobs, Refuse)) == (stored is None)


@pytest.mark.parametrize("status", [s for s in Status if s not in (
    Status.IN_PROGRESS, Status.BLOCKED, Status.FOR_REVIEW)])  # fmt: skip
def test_other_states_are_not_a_workers_to_set(status: Status) -> None:
    story = Story().running()
    assert only(story.report(StatusReport(status), 1), Refuse)
    assert story.task().status is Status.IN_PROGRESS


@pytest.mark.parametrize(
    ("key", "value", "taken"),
    [
        ("pr", "https://git.example/a/b/pull/1 open", True),
        ("pr", "see the description", False),
        ("tokens_in", "1200", True),
        ("tokens_in", "-1", False),
        ("cost_usd", "0.5", True),
        ("cost_usd", "nan", False),
        ("turns", "3", True),
        ("blocked_by", "#task-2,#web-task-3", True),
        ("blocked_by", "#task-1", False),
        ("blocked_by", "nothing", False),
        ("title", "A better title", True),
        ("title", "", False),
        ("default_branch", "main", True),
        ("default_branch", "--upload-pack=x", False),
        ("status", "done", False),
        ("requester", "mallory", False),
        ("run", "{}", False),
    ],
)
def test_a_worker_sets_these_keys_only(key: str, value: str, taken: bool) -> None:
    story = Story().running()
    before = story.task()
    jobs = story.report(Meta(key, value), 1)
    assert bool(only(jobs, Confirm)) == taken
    assert bool(only(jobs, Refuse)) != taken
    assert (story.task() != before) == taken
    assert bool(only(jobs, Publish)) == (taken and key != "turns")


def test_a_new_title_goes_to_the_topic() -> None:
    jobs = Story().running().report(Meta("title", "A better title"), 1)
    assert only(jobs, SetTopic) == [SetTopic("#task-1", "[in_progress] A better title")]


@pytest.mark.parametrize("command", ["!kill", "!archive"])
def test_after_its_end_only_totals_of_the_attempt_count(command: str) -> None:
    story = Story().running()
    story.say(command, "#task-1")
    status = story.task().status
    assert only(story.report(DONE, 1), Refuse)
    assert only(story.report(Meta("pr", "https://x.example/1 open"), 2), Refuse)
    assert only(story.report(Meta("turns", "7"), 3), SetMetadata)
    assert only(story.report(Bye("killed", "-"), 4), Confirm)
    assert (story.task().status, story.task().usage.turns) == (status, 7)


def test_a_directive_of_an_unknown_kind_is_answered() -> None:
    story = Story().running()
    unknown: tuple[str | PermissionAsked, ...] = ("[dance]", PermissionAsked("1-1", "bash", "ls"))
    for seq, directive in enumerate(unknown, 1):
        (refusal,) = only(story.report(directive, seq), Refuse)
        assert refusal.why == "this controller does not know that directive"


def test_a_change_asked_for_in_review_bounces_to_work_and_back() -> None:
    story = Story().in_review()
    assert said(story.report("[status] in_progress", 2)) == ["#task-1 is in progress again"]
    story.report(DONE, 3)
    assert story.task().status is Status.FOR_REVIEW


# Leaving


def test_an_idle_worker_goes_and_is_not_missed() -> None:
    story = Story().blocked()
    assert story.report(Bye("idle", "-"), 2) == [Job("#task-1", (Confirm("HAL-9000", "m4"),))]
    story.leave("HAL-9000")
    exited = [e.event.fields for e in only(story.ended("completed"), Publish)]
    assert exited == [{"worker": "HAL-9000", "reason": "idle"}]
    assert story.task().status is Status.BLOCKED


def test_a_line_that_the_leaving_worker_has_not_taken_brings_another() -> None:
    story = Story().in_review()
    story.say("thanks", "#task-1", msgid="taken")
    story.say("one more thing", "#task-1", msgid="late")
    jobs = story.report(Bye("idle", "taken"), 2)
    assert story.task().status is Status.READY
    assert only(jobs, Publish)[0].event.cause == "late"
    assert spawns(story.ended("completed")) == [(1, 2)]


def test_a_worker_that_leaves_idle_just_as_it_is_woken_is_replaced() -> None:
    story = Story().blocked()
    story.say("Autumn", "#task-1")
    assert story.task().status is Status.IN_PROGRESS
    story.report(Bye("idle", "m3"), 2)
    assert story.task().status is Status.READY
    assert spawns(story.ended("completed")) == [(1, 2)]


def test_all_effects_of_a_directive_come_before_its_confirmation() -> None:
    jobs = Story().running().report("[status] blocked question: Which?", 1)
    kinds = [type(effect).__name__ for effect in effects(jobs)]
    assert kinds == ["Publish", "SetMetadata", "SetTopic", "SetModerated", "Confirm", "Say"]
