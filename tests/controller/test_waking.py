from __future__ import annotations

from dataclasses import replace

import pytest

from controller.board import Board
from controller.effects import Direct, Handled, Job, Publish
from controller.rebuild import Rebuilt
from controller.spawner import WorkerList
from shared.directives import Resume
from shared.firehose import Event, Record
from shared.task import Run, Status, Task, Times, Why
from tests.support.core_story import NOW, Story, only, said, spawns

PERSON_WAKES = {Why.QUESTION, Why.STOPPED}
GRANTS = {Why.BUDGET, Why.TURNS, Why.DEADLINE, Why.LOOP, Why.TOOL_TIME}


def blocked_for(why: Why) -> Story:
    story = Story().running()
    task = story.task()
    story.board.put(
        replace(
            task,
            status=Status.BLOCKED,
            reason=f"{why}: detail",
            assignee="dora",
            times=Times(9, {**task.times.entered, Status.BLOCKED: int(story.now)}),
        )
    )
    return story


@pytest.mark.parametrize("why", Why)
@pytest.mark.parametrize("nick", ["alice", "dora", "mia", "bob"])
def test_who_wakes_a_blocked_task_depends_on_the_reason(why: Why, nick: str) -> None:
    story = blocked_for(why)
    jobs = story.say("go on", "#task-1", nick=nick)
    allowed = {"alice", "mia", "dora"} if why is Why.QUESTION else {"alice", "mia"}
    wakes = why in PERSON_WAKES | GRANTS and nick in allowed
    assert (story.task().status is Status.IN_PROGRESS) == wakes
    resumes = [Direct("#task-1", 1, 1, "HAL-9000", Resume("m3"), "m3")]
    assert only(jobs, Direct) == (resumes if wakes else [])
    if wakes and why in GRANTS:
        nick = f"{nick[0]}\u200b{nick[1:]}"
        assert said(jobs)[0].endswith(f"goes on; {nick} grants one more allowance")


def test_a_line_without_an_account_wakes_nobody() -> None:
    story = blocked_for(Why.QUESTION)
    assert story.say("go on", "#task-1", account=None) == []


@pytest.mark.parametrize("state", ["drafted", "queued", "running"])
def test_talk_changes_nothing_where_nobody_waits_for_it(state: str) -> None:
    story: Story = getattr(Story(), state)()
    before = story.task()
    assert story.say("what a nice day", "#task-1") == []
    assert story.task() == before


def test_an_answer_to_a_worker_that_is_gone_puts_the_task_to_the_front() -> None:
    story = Story().blocked()
    story.ended("idle")
    story.now += 100
    jobs = story.say("Autumn", "#task-1")
    assert said(jobs)[0] == ("#task-1 is ready, at the front of the queue; a worker comes back")
    assert spawns(jobs) == [(1, 2)]
    assert story.task().run.front == int(story.now)


def test_a_live_worker_in_review_hears_lines_itself() -> None:
    story = Story().in_review()
    assert story.say("make it shorter", "#task-1") == []
    assert story.task().status is Status.FOR_REVIEW


@pytest.mark.parametrize(
    ("nick", "steer", "wakes"),
    [
        ("alice", "requester", True),
        ("mia", "requester", True),
        ("bob", "requester", False),
        ("bob", "members", True),
    ],
)
def test_who_brings_a_worker_back_in_review(nick: str, steer: str, wakes: bool) -> None:
    story = Story().in_review()
    worker = replace(story.settings.worker, steer=steer)
    story.core.world.settings = replace(story.settings, worker=worker)
    story.ended("idle")
    jobs = story.say("make it shorter", "#task-1", nick=nick)
    assert (spawns(jobs) == [(1, 2)]) == wakes


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("!kill", "#task-1 is blocked and no worker is here; !reopen helps"),
        ("!complete", "#task-1 is done and no worker is here; !reopen helps"),
        ("!archive", "#task-1 is archived and no worker is here; !new in #tasks makes another"),
    ],
)
def test_a_line_to_nobody_is_answered_once_per_hour(command: str, hint: str) -> None:
    story = Story().in_review()
    story.say(command, "#task-1")
    story.ended("killed")
    assert said(story.say("hello?", "#task-1")) == [hint]
    assert said(story.say("hello??", "#task-1")) == []
    story.now += 3601
    assert said(story.say("hello???", "#task-1")) == [hint]


def test_a_bystander_gets_no_hint_in_a_blocked_task() -> None:
    story = Story().running()
    story.say("!kill", "#task-1")
    story.ended("killed")
    assert story.say("hello?", "#task-1", nick="bob") == []


# Faster than the worker's report


@pytest.mark.parametrize(
    ("nick", "reason", "answers_it"),
    [
        ("alice", "question: Which season?", True),
        ("alice", "turns", True),
        ("bob", "question: Which season?", False),
        ("alice", "failed: no idea", False),
    ],
)
def test_an_answer_that_came_before_the_report_counts(
    nick: str, reason: str, answers_it: bool
) -> None:
    story = Story().running()
    story.say("be quick", "#task-1", nick=nick)
    story.say("alice: Which season?", "#task-1", nick="HAL-9000")
    story.say("Autumn", "#task-1", nick=nick, msgid="answer")
    jobs = story.report(f"[status] blocked {reason}", 1)
    resumes = [Direct("#task-1", 1, 1, "HAL-9000", Resume("answer"), "answer")]
    assert only(jobs, Direct) == (resumes if answers_it else [])
    status = Status.IN_PROGRESS if answers_it else Status.BLOCKED
    assert story.task().status is status


def test_what_was_said_before_the_question_is_no_answer() -> None:
    story = Story().running()
    story.say("be quick", "#task-1")
    story.say("alice: Which season?", "#task-1", nick="HAL-9000")
    story.report("[status] blocked question: Which season?", 1)
    assert story.task().status is Status.BLOCKED


# After an absence


def absent(status: Status, rev: int = 4, **causes: tuple[Record, ...]) -> Story:
    board = Board()
    entered = {Status.BLOCKED: NOW - 100, Status.IN_PROGRESS: NOW - 100}
    board.put(
        Task(
            "#task-1",
            "Write",
            status,
            "alice",
            "HAL-9000",
            reason="question: Which?" if status is Status.BLOCKED else None,
            run=Run(1, "HAL-9000", "local-11", "agent", joined=NOW - 200),
            times=Times(rev, entered),
        )
    )
    board.listed(WorkerList((), complete=False), 0)
    return Story(Rebuilt(board, causes))


def test_a_missed_answer_wakes_however_old_it_is() -> None:
    story = absent(Status.BLOCKED)
    assert only(story.say("Autumn", "#task-1", live=False, at=NOW - 50), Direct)
    story = absent(Status.BLOCKED)
    story.now += 4000
    assert only(story.say("Autumn", "#task-1", live=False, at=NOW - 50), Direct)


def test_a_missed_line_from_before_the_question_answers_nothing() -> None:
    story = absent(Status.BLOCKED)
    assert story.say("Autumn", "#task-1", live=False, at=NOW - 101) == []


@pytest.mark.parametrize(("rev", "again"), [(4, True), (5, False)])
def test_a_resume_that_may_be_lost_is_sent_again(rev: int, again: bool) -> None:
    woke = Record(1, NOW, Event("status", "#task-1", None, {"status": "in_progress", "rev": 4}))
    story = absent(Status.IN_PROGRESS, rev, m1=(woke,))
    jobs = story.say("Autumn", "#task-1", live=False, at=NOW - 50)
    direct = Direct("#task-1", 1, 1, "HAL-9000", Resume("m1"), "m1")
    expected = [Job("#task-1", (direct, Handled("m1", NOW - 50)))]
    assert jobs == (expected if again else [])


# Reopening


def test_reopen_with_a_live_worker_resumes_it_with_the_note_first() -> None:
    story = Story().in_review()
    jobs = story.say("!reopen five syllables only", "#task-1")
    direct = Direct("#task-1", 1, 1, "HAL-9000", Resume("five syllables only"), "m4")
    assert only(jobs, Direct) == [direct]
    assert story.task().status is Status.IN_PROGRESS


def test_reopen_without_one_starts_another_and_forgives() -> None:
    story = Story().in_review()
    story.ended("idle")
    task = story.task()
    story.board.put(replace(task, run=replace(task.run, resumed=1, oom=1)))
    jobs = story.say("!reopen again", "#task-1")
    assert spawns(jobs) == [(1, 2)]
    run = story.task().run
    assert (run.resumed, run.oom, run.exited, run.joined) == (0, 0, None, None)
    assert [e.event.kind for e in only(jobs, Publish)][:2] == ["status", "task_ready"]
