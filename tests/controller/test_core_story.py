"""The main story, job by job: what the runner is asked to do, in which order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from controller.effects import (
    Answer,
    Confirm,
    Direct,
    Handled,
    Invite,
    Job,
    MakeChannel,
    MintAccount,
    PostDescription,
    Publish,
    Say,
    SetMetadata,
    SetModerated,
    SetTopic,
    Spawn,
)
from shared.directives import Bye, Leave, Meta, Resume, StatusReport
from shared.firehose import Event
from shared.task import Status
from tests.support.core_story import NOW, WORKER, Story

T = "#task-1"
TITLE = "Write a haiku"


def event(kind: str, cause: str | None = None, at: str | None = None, **fields: Any) -> Publish:
    blank: dict[str, Any] = {}
    if kind == "status":
        keys = ("attempt", "worker", "seq", "reason", "question", "waits_for")
        blank = dict.fromkeys(keys)
    return Publish(Event(kind, T, None, blank | fields, cause, at))


def times(rev: int, *states: str) -> str:
    entered = ",".join(f'"{state}":{NOW}' for state in sorted(states))
    return f'{{"rev":{rev},{entered}}}'


def notice(text: str) -> Say:
    return Say(T, (text,), notice=True)


def test_new_logs_first_and_answers_last() -> None:
    assert Story().say("!new Write a haiku") == [
        Job(
            T,
            (
                event("task_created", "m1", "#tasks", title=TITLE, requester="alice"),
                MakeChannel(T),
                PostDescription(T, TITLE),
                SetMetadata(
                    T,
                    {
                        "status": "pending",
                        "requester": "alice",
                        "created": str(NOW),
                        "times": times(0, "pending"),
                        "description.0": '001:374c0469:"Write a haiku"',
                    },
                ),
                SetMetadata("#tasks", {"next_task": "2"}),
                SetTopic(T, "[pending] Write a haiku"),
                Invite("alice", T),
                Say("alice", ("#task-1 is yours: /join #task-1; say !ready there to start it",)),
                Answer(
                    "#tasks",
                    ("#task-1 is a draft: “Write a haiku”; !ready there starts it",),
                    "m1",
                ),
                Handled("m1", NOW),
            ),
        )
    ]


def test_new_in_a_dm_is_answered_there_once() -> None:
    (job,) = Story().say("new Write a haiku", place="controller")
    says = [effect for effect in job.effects if isinstance(effect, Say | Answer)]
    lines = ("#task-1 is a draft: “Write a haiku”; !ready there starts it",)
    assert says == [Answer("alice", lines, "m1", notice=False)]
    assert isinstance(job.effects[0], Publish)
    assert job.effects[0].event.at == "alice"


def test_ready_starts_a_worker_when_all_workers_are_known() -> None:
    story = Story()
    story.sweep(after=0)
    story.drafted()
    env = replace(
        WORKER,
        task_id=1,
        task_channel=T,
        task_description=TITLE,
        attempt=1,
        irc_account="HAL-9000",
        requester="alice",
        maintainers=("mia",),
    )
    queued: dict[str, Any] = {"status": "ready", "prev_status": "pending", "rev": 1}
    started: dict[str, Any] = {
        "status": "in_progress",
        "prev_status": "ready",
        "rev": 2,
        "attempt": 1,
    }
    placed = "#task-1 is ready, place 1 of 1 in the queue; a worker is being started"
    assert story.say("!ready", T) == [
        Job(
            T,
            (
                event("status", "m2", T, **queued),
                event("task_ready", "m2", T, priority=0, front=None),
                SetMetadata(T, {"status": "ready", "times": times(1, "pending", "ready")}),
                SetTopic(T, "[ready] Write a haiku"),
                Answer(T, (placed,), "m2"),
                Handled("m2", NOW),
            ),
        ),
        Job(
            T,
            (
                event("status", **started, worker="HAL-9000"),
                event("task_assigned", assignee="HAL-9000"),
                SetMetadata(T, {"run": '{"attempt":1,"worker":"HAL-9000","spawned":"agent"}'}),
                MintAccount("HAL-9000", 1, 1, listed=False),
                Spawn(T, env),
                SetMetadata(
                    T,
                    {
                        "status": "in_progress",
                        "assignee": "HAL-9000",
                        "times": times(2, "pending", "ready", "in_progress"),
                    },
                ),
                SetTopic(T, "[in_progress] Write a haiku"),
                notice("#task-1 is in progress: HAL-9000 is starting (attempt 1)"),
            ),
        ),
    ]


def test_a_worker_is_announced_when_it_is_in_its_room() -> None:
    story = Story()
    story.sweep(after=0)
    story.queued()
    run = '{"attempt":1,"worker":"HAL-9000","job":"local-11","spawned":"agent"'
    assert story.spawned() == [
        Job("#agents", (SetMetadata("#agents", {"pool.0": "HAL-9000"}),)),
        Job(T, (SetMetadata(T, {"run": run + "}"}),)),
    ]
    spawned = event(
        "worker_spawned", worker="HAL-9000", pod="local-11", model="claude-test", attempt=1
    )
    joined = SetMetadata(T, {"run": f'{run},"joined":{NOW}}}'})
    assert story.join("HAL-9000") == [Job(T, (spawned, joined))]
    assert story.join("HAL-9000") == []


def test_a_question_is_blocked_on_and_answered_in_plain_text() -> None:
    story = Story().running()
    story.now = NOW
    asked = {"reason": "question", "question": "Which season?", "waits_for": "alice"}
    blocked = {"status": "blocked", "prev_status": "in_progress", "rev": 3, "attempt": 1, "seq": 1}
    jobs = story.report(StatusReport(Status.BLOCKED, "question: Which season?"), 1)
    (job,) = jobs
    assert job.lane == T
    assert job.effects[0] == event("status", "m3", T, **blocked, **asked, worker="HAL-9000")
    assert isinstance(job.effects[1], SetMetadata)
    assert job.effects[1].values["reason"] == "question: Which season?"
    assert job.effects[2:] == (
        SetTopic(T, "[blocked] Write a haiku"),
        SetModerated(T, True),
        Confirm("HAL-9000", "m3"),
        notice(
            "#task-1 is blocked (it waits for an answer: Which season?); answer here in plain text"
        ),
    )
    (job,) = story.say("Autumn, please", T)
    resumed = {"status": "in_progress", "prev_status": "blocked", "rev": 4, "attempt": 1}
    assert job.effects[0] == event("status", "m4", T, **resumed, worker="HAL-9000")
    assert job.effects[2:] == (
        SetTopic(T, "[in_progress] Write a haiku"),
        SetModerated(T, False),
        Direct(T, 1, 1, "HAL-9000", Resume("m4"), "m4"),
        notice("#task-1 is in progress: HAL-9000 goes on"),
        Handled("m4", NOW),
    )


def test_a_turn_is_an_event_without_a_write() -> None:
    story = Story().running()
    turn = {"status": "in_progress", "prev_status": "in_progress", "rev": 2, "attempt": 1, "seq": 1}
    assert story.report(StatusReport(Status.IN_PROGRESS), 1) == [
        Job(T, (event("status", "m3", T, **turn, worker="HAL-9000"), Confirm("HAL-9000", "m3")))
    ]


def test_totals_are_kept_as_the_maximum_and_published() -> None:
    story = Story().running()
    (job,) = story.report(Meta("cost_usd", "0.25"), 1)
    cost = event("cost", "m3", T, worker="HAL-9000", cost_usd=0.25, tokens_in=0, tokens_out=0)
    usage = SetMetadata(T, {"usage": '{"cost_usd":0.25}'})
    assert job == Job(T, (cost, usage, Confirm("HAL-9000", "m3")))
    assert story.report(Meta("cost", "0.2"), 2) == [Job(T, (Confirm("HAL-9000", "m4"),))]


def test_review_calls_the_requester_and_complete_lets_the_worker_go() -> None:
    story = Story().running()
    (job,) = story.report(StatusReport(Status.FOR_REVIEW), 1)
    steps = "!complete accepts it, !reopen <note> sends it back, or talk to the worker here"
    assert job.effects[-2:] == (
        Confirm("HAL-9000", "m3"),
        Say(T, (f"alice: #task-1 is ready for review: {steps}",)),
    )
    (job,) = story.say("!complete", T)
    done = {"status": "done", "prev_status": "for_review", "rev": 4, "attempt": 1}
    line = "#task-1 is done: “Write a haiku”"
    assert job.effects[:2] == (
        event("status", "m4", T, **done, worker="HAL-9000"),
        event("task_completed", "m4", T, by="alice"),
    )
    assert job.effects[3:] == (
        SetTopic(T, "[done] Write a haiku"),
        Direct(T, 1, 1, "HAL-9000", Leave("completed"), "m4"),
        Answer(
            T,
            (line,),
            "m4",
            if_unconfirmed=(
                line,
                "the worker has not confirmed; it is told again until it does",
            ),
        ),
        Handled("m4", story.now),
    )
    assert story.report(Bye("completed", "-"), 2) == [Job(T, (Confirm("HAL-9000", "m5"),))]
    (job,) = story.ended("completed")
    assert job.effects[0] == event("worker_exited", worker="HAL-9000", reason="completed")
    assert story.sweep() == []
