"""Workers that start, fail, vanish and end, as the core carries it out."""

from __future__ import annotations

import pytest

from controller.effects import (
    AccountTaken,
    Answer,
    Direct,
    Handled,
    Job,
    Kill,
    MintAccount,
    Publish,
    SetMetadata,
    Spawn,
    Unconfirmed,
)
from controller.spawner import WorkerRef, WorkerSeen, WorkerState
from shared.directives import Leave, Resume, Stop
from shared.task import Status
from tests.support.core_story import Story, answers, effects, only, said, spawns


def kinds(jobs: list[Job]) -> list[str]:
    return [publish.event.kind for publish in only(jobs, Publish)]


# Worker lost


@pytest.mark.parametrize("cause", ["", "evicted", "killed", "vanished", "oom"])
def test_a_lost_worker_is_replaced_once_by_a_new_attempt(cause: str) -> None:
    story = Story().running()
    jobs = story.ended(cause)
    assert kinds(jobs) == ["worker_exited", "status", "task_ready", "status", "task_assigned"]
    assert said(jobs)[0] == ("#task-1 lost its worker; another one goes on with the same workspace")
    assert spawns(jobs) == [(1, 2)]
    story.spawned(attempt=2)
    story.join("HAL-9000")
    jobs = story.ended(cause, attempt=2)
    assert spawns(jobs) == []
    assert story.task().status is Status.BLOCKED
    lost = "failed: out of memory twice" if cause == "oom" else "vanished: it was lost twice"
    assert story.task().reason == lost
    assert said(jobs)[-1].startswith("alice: #task-1 is blocked (")
    assert said(jobs)[-1].endswith("; !reopen starts it again")


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        ("error", "failed: its worker ended with an error"),
        ("completed", "failed: it left without handing in"),
        ("deadline", "deadline"),
        ("bad-image", "failed: it ended with “bad-image”"),
    ],
)
def test_a_worker_that_failed_needs_a_person(cause: str, reason: str) -> None:
    story = Story().running()
    jobs = story.ended(cause)
    assert (story.task().status, story.task().reason) == (Status.BLOCKED, reason)
    assert kinds(jobs) == ["worker_exited", "status"]


def test_the_end_of_a_worker_is_told_once() -> None:
    story = Story().in_review()
    assert kinds(story.ended("completed")) == ["worker_exited"]
    assert story.sweep() == []


def test_a_partial_list_proves_nothing() -> None:
    story = Story().running()
    story.alive.clear()
    assert story.sweep(complete=False) == []
    assert story.task().status is Status.IN_PROGRESS


def test_an_attempt_that_was_never_seen_is_started_again() -> None:
    story = Story()
    story.sweep()
    story.queued()
    story.board.live("#task-1").spawning = False
    jobs = story.sweep()
    assert spawns(jobs) == [(1, 1)]
    assert [type(effect) for effect in effects(jobs)] == [MintAccount, Spawn]


# Starts that fail


def test_a_start_refused_for_now_keeps_its_place_and_attempt() -> None:
    story = Story()
    story.sweep()
    story.queued()
    entered = story.task().times.entered[Status.READY]
    jobs = story.spawn_failed(transient=True)
    assert story.task().status is Status.READY
    assert story.task().times.entered[Status.READY] == entered
    assert said(jobs) == ["#task-1 keeps its place and is tried again: no room"]
    assert spawns(story.sweep(after=14)) == []
    assert spawns(story.sweep(after=1)) == [(1, 1)]
    assert said(story.spawn_failed(transient=True)) == []
    assert spawns(story.sweep(after=29)) == []
    assert spawns(story.sweep(after=1)) == [(1, 1)]


def test_a_start_refused_for_good_blocks_the_task() -> None:
    story = Story()
    story.sweep()
    story.queued()
    jobs = story.spawn_failed(transient=False)
    assert story.task().reason == "failed: no worker could be started: no room"
    assert said(jobs) == [
        "alice: #task-1 is blocked (its worker failed: no worker could be started: no room); "
        "!reopen starts it again"
    ]
    story.sweep()
    assert spawns(story.say("!reopen", "#task-1")) == [(1, 1)]


def test_after_three_failed_starts_dispatch_waits_longer_each_time() -> None:
    story = Story()
    story.sweep()
    for number in range(1, 8):
        story.say(f"!new Task {number}", nick=f"person{number}")
        story.say("!ready", f"#task-{number}", nick=f"person{number}")
    fails = [story.spawn_failed(transient=False, number=number) for number in (1, 2, 3)]
    waits = "no task is started for 1 min: 3 starts in a row failed; the last one: no room"
    assert [waits in said(jobs) for jobs in fails] == [False, False, True]
    assert spawns(fails[2]) == []
    for number in (4, 5):
        assert "no task is started" not in " ".join(
            said(story.spawn_failed(transient=False, number=number))
        )
    assert spawns(story.sweep(after=59)) == []
    assert spawns(story.sweep(after=1)) == [(6, 1)]
    jobs = story.spawn_failed(transient=False, number=6)
    assert "no task is started for 2 min: 4 starts in a row failed; the last one: no room" in (
        said(jobs)
    )
    story.sweep(after=120)
    story.spawned(7)
    story.join("GLaDOS", "#task-7", account=story.task(7).run.worker)
    assert story.board.failed_starts == 0


def test_a_name_that_is_a_persons_is_skipped_for_ever() -> None:
    story = Story()
    story.sweep()
    story.queued()
    jobs = story.feed(AccountTaken("#task-1", 1, "HAL-9000"))
    assert [type(effect).__name__ for effect in effects(jobs)] == [
        "Publish",
        "SetMetadata",
        "MintAccount",
        "Spawn",
        "Say",
    ]
    assert only(jobs, MintAccount) == [MintAccount("GLaDOS", 1, 1, listed=False)]
    story.spawned()
    story.say("!new Two")
    story.say("!ready", "#task-2")
    assert story.task(2).run.worker == "Marvin"
    assert answers(story.say("!tasks", nick="HAL-9000")) != []


def test_names_that_are_ours_are_listed_in_one_lane() -> None:
    story = Story()
    story.sweep()
    for number in (1, 2):
        story.say(f"!new Task {number}")
        story.say("!ready", f"#task-{number}")
    listed = [story.spawned(2)[0], story.spawned(1)[0]]
    assert listed == [
        Job("#agents", (SetMetadata("#agents", {"pool.0": "GLaDOS"}),)),
        Job("#agents", (SetMetadata("#agents", {"pool.0": "GLaDOS,HAL-9000"}),)),
    ]


# Stop and kill


def test_stop_asks_the_worker_and_tells_the_truth_when_it_is_silent() -> None:
    story = Story().running()
    (job,) = story.say("!stop", "#task-1")
    assert job.effects == (
        Direct("#task-1", 1, 1, "HAL-9000", Stop("alice"), "m3"),
        Answer(
            "#task-1",
            ("#task-1: the worker stops and parks; plain text or !reopen goes on",),
            "m3",
            if_unconfirmed=("#task-1: the worker has not confirmed the stop, so it is ended",),
        ),
        Handled("m3", story.now),
    )
    jobs = story.feed(Unconfirmed("#task-1", 1, Stop("alice")))
    assert only(jobs, Kill) == [Kill(WorkerRef(1, 1, "local-11"))]
    assert story.task().reason == "killed: by alice, the stop was not confirmed"


def test_a_stop_that_was_obeyed_late_kills_nobody() -> None:
    story = Story().running()
    story.report("[status] blocked stopped: by alice", 1)
    assert story.feed(Unconfirmed("#task-1", 1, Stop("alice"))) == []


def test_a_worker_that_does_not_leave_is_ended() -> None:
    story = Story().in_review()
    story.say("!complete", "#task-1")
    jobs = story.feed(Unconfirmed("#task-1", 1, Leave("completed")))
    assert only(jobs, Kill) == [Kill(WorkerRef(1, 1, "local-11"))]
    assert story.feed(Unconfirmed("#task-1", 1, Resume("m1"))) == []


@pytest.mark.parametrize("state", ["running", "blocked", "in_review"])
def test_kill_holds_no_slot_and_reopen_waits_for_the_proof(state: str) -> None:
    story: Story = getattr(Story(), state)()
    jobs = story.say("!kill", "#task-1")
    assert only(jobs, Kill) == [Kill(WorkerRef(1, 1, "local-11"))]
    assert story.task().reason == "killed: by alice"
    jobs = story.say("!reopen", "#task-1")
    assert story.task().status is Status.READY
    assert spawns(jobs) == []
    jobs = story.ended("killed")
    exited = next(p.event for p in only(jobs, Publish) if p.event.kind == "worker_exited")
    assert exited.fields["reason"] == "killed"
    assert spawns(jobs) == [(1, 2)]


def test_kill_without_a_worker_says_what_helps() -> None:
    story = Story().in_review()
    story.ended("idle")
    assert answers(story.say("!kill", "#task-1")) == [
        "alice: #task-1 has no live worker; !reopen starts one"
    ]


def test_a_person_is_told_of_a_task_that_waits_long_for_the_end_of_a_worker() -> None:
    story = Story().running()
    story.say("!kill", "#task-1")
    story.say("!reopen", "#task-1")
    told = [line for _ in range(30) for line in said(story.sweep())]
    assert told == ["alice: #task-1 waits: an earlier worker of it is not known to be gone"]


def test_a_worker_of_nobody_is_reported_once_and_ended_after_its_grace() -> None:
    story = Story()
    ref = WorkerRef(7, 1, "local-77")
    story.alive[7, 1] = WorkerSeen(ref, WorkerState.RUNNING)
    text = (
        "worker local-77 (task 7, attempt 1) belongs to no task; it is ended unless one claims it"
    )
    assert said(story.sweep()) == [text]
    assert story.sweep(after=299) == []
    assert only(story.sweep(after=1), Kill) == [Kill(ref)]
