from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.core import Core
from controller.effects import (
    DescriptionRead,
    Effect,
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
from controller.rebuild import (
    Listed,
    Need,
    Rebuilt,
    Snapshot,
    choose_description,
    read_back_to,
    rebuild,
)
from controller.spawner import WorkerList, WorkerRef, WorkerSeen, WorkerState
from shared import description
from shared.directives import DESCRIPTION_TAG
from shared.firehose import Event, Record
from shared.ircv3.message import Message
from shared.task import Run, Status, Task, Times, Usage
from shared.task_metadata import to_metadata
from tests.support.core_story import NOW, SETTINGS, Story, effects, only, said

TASK = Task(
    "#task-1",
    "Write a haiku",
    Status.IN_PROGRESS,
    "alice",
    "HAL-9000",
    created=NOW - 500,
    run=Run(1, "HAL-9000", "local-11", "agent", joined=NOW - 300),
    times=Times(2, {Status.PENDING: NOW - 500, Status.READY: NOW - 400}),
    usage=Usage(cost_usd=0.5),
    description="Write a haiku\nabout autumn 🍁",
)
POOL = {"pool.0": "HAL-9000"}
NO_WORKERS = WorkerList((), complete=True)


def stored(task: Task) -> dict[str, str]:
    return {**to_metadata(task), **description.to_pieces(task.description)}


def damaged(task: Task, damage: dict[str, str]) -> dict[str, str]:
    """As stored, with some values replaced; "" = deleted."""
    return {key: value for key, value in (stored(task) | damage).items() if value}


def record(kind: str, t: float = NOW - 10, cause: str | None = None, **fields: Any) -> Record:
    number = fields.pop("number", 1)
    cut = fields.pop("cut", False)
    at = "#tasks" if cause else None
    return Record(1, t, Event(kind, f"#task-{number}", None, fields, cause, at, cut))


def read(
    *tasks: Task,
    records: tuple[Record, ...] = (),
    workers: WorkerList = NO_WORKERS,
    **overrides: Any,
) -> Rebuilt:
    """`overrides` = channel metadata by channel, `topics`, `modes`, `control` for #tasks."""
    topics = overrides.pop("topics", {t.channel: t.topic for t in tasks})
    metadata = {t.channel: stored(t) for t in tasks}
    known = {"next_task": str(max((t.number for t in tasks), default=0) + 1)}
    metadata |= {"#tasks": known | overrides.pop("control", {}), "#agents": POOL}
    metadata |= overrides.pop("metadata", {})
    modes = overrides.pop("modes", dict.fromkeys(topics, frozenset("nt")))
    listed = tuple(Listed(c, topic, modes.get(c)) for c, topic in topics.items())
    return rebuild(Snapshot(listed, metadata, records, workers, NOW), SETTINGS, NOW)


def only_task(rebuilt: Rebuilt) -> Task:
    (task,) = rebuilt.board
    return task


def test_a_board_that_was_written_whole_needs_nothing() -> None:
    rebuilt = read(TASK)
    assert only_task(rebuilt) == TASK
    assert (rebuilt.needs, rebuilt.problems, rebuilt.repairs) == ((), (), ())
    assert rebuilt.board.pool.lists("hal-9000")


@pytest.mark.parametrize(
    ("status", "modes", "repaired"),
    [
        (Status.READY, "nt", ()),
        (Status.READY, "Cntx", ()),
        (Status.READY, "n", (MakeChannel("#task-1", anew=True),)),
        (Status.READY, "ntM", (SetModerated("#task-1", False),)),
        (Status.BLOCKED, "nt", (SetModerated("#task-1", True),)),
        (Status.BLOCKED, "M", (MakeChannel("#task-1", anew=True),)),
    ],
)
def test_modes_that_somebody_or_a_crash_has_changed_are_set_again(
    status: Status, modes: str, repaired: tuple[Effect, ...]
) -> None:
    task = replace(TASK, status=status, reason="turns" if status is Status.BLOCKED else None)
    rebuilt = read(task, modes={"#task-1": frozenset(modes)})
    assert effects(rebuilt.repairs) == list(repaired)


def test_an_archived_channel_that_nobody_asked_about_is_left_alone() -> None:
    assert read(replace(TASK, status=Status.ARCHIVED), modes={}).repairs == ()


def test_the_log_wins_where_its_rev_is_higher() -> None:
    blocked = record(
        "status",
        status="blocked",
        prev_status="in_progress",
        rev=3,
        attempt=1,
        worker="HAL-9000",
        seq=4,
        reason="question",
        question="Which season?",
    )
    rebuilt = read(TASK, records=(blocked,))
    entered = {**TASK.times.entered, Status.BLOCKED: NOW - 10}
    task = replace(
        TASK, status=Status.BLOCKED, reason="question: Which season?", times=Times(3, entered)
    )
    assert only_task(rebuilt) == task
    assert rebuilt.board.live("#task-1").inbox.highest == 4
    assert rebuilt.board.live("#task-1").question == "Which season?"
    assert rebuilt.repairs == (
        Job(
            "#task-1",
            (
                SetMetadata(
                    "#task-1",
                    {
                        "status": "blocked",
                        "reason": "question: Which season?",
                        "times": to_metadata(task)["times"],
                    },
                ),
                SetTopic("#task-1", task.topic),
                SetModerated("#task-1", True),
            ),
        ),
    )


@pytest.mark.parametrize("rev", [1, 2])
def test_the_log_changes_nothing_where_its_rev_is_not_higher(rev: int) -> None:
    old = record("status", status="pending", prev_status="ready", rev=rev)
    assert only_task(read(TASK, records=(old,))) == TASK


def test_the_topic_never_wins() -> None:
    rebuilt = read(TASK, topics={"#task-1": "[done] Write a haiku"})
    assert only_task(rebuilt) == TASK
    assert rebuilt.repairs == (Job("#task-1", (SetTopic("#task-1", TASK.topic),)),)


def test_a_start_whose_writes_were_lost_is_known_from_the_log() -> None:
    ready = replace(TASK, status=Status.READY, assignee=None, run=Run(), times=Times(1, {}))
    started = record(
        "status", status="in_progress", prev_status="ready", rev=2, attempt=1, worker="HAL-9000"
    )
    rebuilt = read(ready, records=(started,))
    assert only_task(rebuilt).run == Run(1, "HAL-9000", spawned="agent")
    story = Story(rebuilt)
    jobs = story.sweep()
    assert [type(effect) for effect in effects(jobs)] == [MintAccount, Spawn]
    assert only(jobs, MintAccount) == [MintAccount("HAL-9000", 1, 1, listed=True)]


def test_facts_of_the_log_are_applied_in_order() -> None:
    records = (
        record("worker_exited", worker="HAL-9000", reason="evicted"),
        record("status", status="in_progress", prev_status="ready", rev=4, attempt=2,
               worker="GLaDOS"),
        record("task_assigned", assignee="Marvin"),
        record("worker_spawned", worker="Marvin", pod="local-22", attempt=2),
        record("cost", worker="Marvin", cost_usd=0.25, tokens_in=900, tokens_out=10),
        record("task_updated", field="pr", value="https://x.example/1 open"),
        record("task_updated", field="title", value="Another title"),
        record("task_updated", field="requester", value="mallory"),
        record("status", status="who knows", rev=9),
        record("of a later version", number=1),
    )  # fmt: skip
    task = only_task(read(TASK, records=records))
    assert task.run == Run(2, "Marvin", "local-22", "agent", joined=NOW - 10)
    assert task.usage == Usage(cost_usd=0.5, tokens_in=900, tokens_out=10)
    assert (task.pr, task.title, task.requester) == (
        "https://x.example/1 open",
        "Another title",
        "alice",
    )


def test_the_end_of_the_current_attempt_is_known_from_the_log() -> None:
    gone = record("worker_exited", worker="HAL-9000", reason="oom")
    assert only_task(read(TASK, records=(gone,))).run.exited == "oom"


# Numbers


def test_a_lost_next_number_is_stored_again() -> None:
    lost = read(TASK, control={"next_task": "1"}).repairs
    assert lost == (Job("#tasks", (SetMetadata("#tasks", {"next_task": "2"}),)),)


@pytest.mark.parametrize(
    ("changed", "number"),
    [
        pytest.param({}, 2, id="LIST"),
        pytest.param({"control": {"next_task": "9"}}, 9, id="next_task"),
        pytest.param({"control": {"next_task": "nine"}}, 2, id="a next_task that is no number"),
        pytest.param({"workers": WorkerList((), True, 6)}, 7, id="workers and workspaces"),
        pytest.param({"records": (record("cost", number=4),)}, 5, id="#firehose"),
    ],
)
def test_the_next_number_is_above_every_witness(changed: dict[str, Any], number: int) -> None:
    assert read(TASK, **changed).board.next_number == number


@pytest.mark.parametrize(
    ("values", "since"),
    [
        ({}, 0.0),
        ({"watermark": "1000.5"}, 940.5),
        *(({"watermark": bad}, 0.0) for bad in ("x", "nan", "inf", "-5", "1e300", "9999999999")),
    ],
)
def test_the_log_is_read_from_a_minute_before_the_watermark(
    values: dict[str, str], since: float
) -> None:
    assert read_back_to({"#tasks": values}, NOW) == since


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param({"status": "dancing"}, id="a state that is none"),
        pytest.param({"status": ""}, id="no state"),
        pytest.param({"run": ""}, id="at work without an attempt"),
        pytest.param({"times": ""}, id="no times"),
        pytest.param({"requester": ""}, id="no requester"),
        pytest.param({"created": "soon"}, id="any value that is unreadable"),
    ],
)
def test_the_whole_log_is_read_where_a_task_is_damaged(damage: dict[str, str]) -> None:
    tasks = {"watermark": f"{NOW - 5}"}
    assert read_back_to({"#tasks": tasks, "#task-1": stored(TASK)}, NOW) == NOW - 65
    assert read_back_to({"#tasks": tasks, "#task-1": damaged(TASK, damage)}, NOW) == 0.0
    assert read_back_to({"#tasks": tasks, "#task-1": {}}, NOW) == NOW - 65


# What cannot be read


def test_unreadable_values_are_told_and_not_written_over() -> None:
    broken = stored(TASK) | {"budget": "dancing", "created": "long ago"}
    rebuilt = read(TASK, metadata={"#task-1": broken})
    assert rebuilt.repairs == ()
    assert rebuilt.problems == (
        "#task-1: METADATA created is not readable: 'long ago'",
        "#task-1: METADATA budget is not readable: 'dancing'",
    )


_LIFE = (
    record("task_created", NOW - 500, title="Write a haiku", requester="alice"),
    record("status", NOW - 400, status="ready", prev_status="pending", rev=1),
    record(
        "status", NOW - 350, status="in_progress", prev_status="ready", rev=2, attempt=1,
        worker="HAL-9000",
    ),
    record("worker_spawned", NOW - 300, worker="HAL-9000", pod="local-11", attempt=1),
)  # fmt: skip


@pytest.mark.parametrize(
    "damage",
    [
        {"status": "dancing"},
        {"status": ""},
        {"run": "[]"},
        {"run": '{"attempt":1,"worker":5}'},
        {"run": '{"attempt":"x"}'},
        {"run": '{"attempt":1e999}'},
        {"run": ""},
        {"times": '{"rev":1e999}'},
        {"times": '{"rev":2,"pending":null}'},
        {"times": ""},
        {"requester": ""},
    ],
    ids=str,
)
def test_what_a_person_has_damaged_is_taken_from_the_log(damage: dict[str, str]) -> None:
    rebuilt = read(TASK, metadata={"#task-1": damaged(TASK, damage)}, records=_LIFE)
    task = only_task(rebuilt)
    assert (task.status, task.requester, task.times.rev) == (Status.IN_PROGRESS, "alice", 2)
    assert (task.run.attempt, task.run.worker, task.run.job) == (1, "HAL-9000", "local-11")
    written = [e for e in effects(rebuilt.repairs) if isinstance(e, SetMetadata)]
    for key in damage:
        assert any(key in write.values for write in written)


def test_a_lost_state_that_the_log_has_forgotten_is_the_one_entered_last() -> None:
    times = Times(7, {Status.PENDING: NOW - 500, Status.DONE: NOW - 40, Status.READY: NOW - 400})
    task = replace(TASK, status=Status.DONE, times=times)
    rebuilt = read(TASK, metadata={"#task-1": damaged(task, {"status": ""})})
    assert only_task(rebuilt) == task


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("next_task", "inf"), ("next_task", "nan"), ("next_task", "1e300"), ("next_task", "-1"),
        ("watermark", "inf"), ("watermark", "nan"), ("snapshot", "inf"), ("snapshot", "nan"),
    ],
)  # fmt: skip
def test_an_absurd_number_in_tasks_is_as_good_as_none(key: str, value: str) -> None:
    rebuilt = read(TASK, control={key: value})
    board = rebuilt.board
    assert (board.next_number, board.watermark) == (2, 0.0)
    assert Core(SETTINGS, rebuilt).begin(NOW)  # snapshots are sent


def test_a_channel_that_nobody_knows_is_told_and_left_alone() -> None:
    rebuilt = read(topics={"#task-3": "", "#cats": "not ours"}, control={"next_task": "4"})
    assert rebuilt.problems == ("#task-3 has no requester",)
    assert rebuilt.repairs == ()
    assert rebuilt.needs == (Need("#task-3"),)
    assert rebuilt.board.next_number == 4


def test_a_channel_with_the_number_of_a_task_is_told_and_left_alone() -> None:
    for topics in ({"#task-1": TASK.topic, "#web-task-1": ""}, {"#web-task-1": ""}):
        topics |= {"#task-1": TASK.topic}  # in either order
        rebuilt = read(TASK, topics=topics)
        assert only_task(rebuilt) == TASK
        assert rebuilt.board.by_number(1) == TASK
        assert rebuilt.problems == ("#web-task-1 has the number of #task-1 and is left alone",)
        assert rebuilt.repairs == ()


def test_a_half_written_task_is_completed_from_the_log() -> None:
    made = record("task_created", cause="m1", title="Write a haiku", requester="alice")
    for topics in ({}, {"#task-1": ""}):
        rebuilt = read(records=(made,), topics=topics, control={"next_task": "2"})
        assert (rebuilt.problems, rebuilt.needs) == ((), (Need("#task-1", "m1", "#tasks"),))
        assert only_task(rebuilt) == Task(
            "#task-1",
            "Write a haiku",
            requester="alice",
            created=NOW - 10,
            times=Times(0, {Status.PENDING: NOW - 10}),
        )
        (job,) = rebuilt.repairs
        assert (job.effects[0] == MakeChannel("#task-1")) == (not topics)
        assert SetTopic("#task-1", "[pending] Write a haiku") in job.effects
        assert dict(rebuilt.causes) == {"m1": (made,)}


def test_a_task_whose_channel_is_gone_is_told_and_its_number_stays_used() -> None:
    records = (
        record("task_created", number=5, title="Lost", requester="alice"),
        record("status", number=5, status="ready", prev_status="pending", rev=1),
        record("task_created", number=6, title="Put away", requester="alice"),
        record("status", number=6, status="archived", prev_status="pending", rev=1),
    )
    rebuilt = read(TASK, records=records)
    assert only_task(rebuilt) == TASK
    assert rebuilt.problems == ("#task-5 is on #firehose, and its channel is gone",)
    assert rebuilt.board.next_number == 7


# Descriptions


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"description.0": '002:00000000:"Write'}, id="a piece is missing"),
        pytest.param({"description.0": '001:00000000:"Write"'}, id="the checksum differs"),
        pytest.param({"description.0": ""}, id="there is none"),
    ],
)
def test_a_damaged_description_is_asked_for(broken: dict[str, str]) -> None:
    values = {k: v for k, v in (stored(TASK) | broken).items() if v}
    rebuilt = read(TASK, metadata={"#task-1": values})
    assert rebuilt.needs == (Need("#task-1"),)
    story = Story(rebuilt)
    text = "Write a haiku"
    assert story.feed(DescriptionRead("#task-1", text)) == [
        Job(
            "#task-1",
            (
                PostDescription("#task-1", text),
                SetMetadata("#task-1", description.to_pieces(text)),
                SetTopic("#task-1", TASK.topic),
            ),
        )
    ]
    assert story.task().description == text


def test_a_description_that_is_lost_is_told_once() -> None:
    story = Story(read(TASK, metadata={"#task-1": to_metadata(TASK)}))
    assert said(story.feed(DescriptionRead("#task-1", None))) == [
        "#task-1 has lost its description; !desc <text> there sets it again"
    ]


def test_a_description_older_than_the_log_is_asked_for() -> None:
    draft = replace(TASK, status=Status.PENDING, run=Run())
    newer = record("task_updated", cause="m7", field="description", value="Write a son…", cut=True)
    assert read(draft, records=(newer,)).needs == (Need("#task-1", "m7", "#tasks"),)
    same = record("task_updated", cause="m7", field="description", value="Write a hai…", cut=True)
    assert read(draft, records=(same,)).needs == ()
    shorter = record("task_updated", cause="m7", field="description", value="Write a haiku")
    assert read(draft, records=(shorter,)).needs == (Need("#task-1", "m7", "#tasks"),)


def test_a_start_that_was_refused_keeps_its_place_over_a_restart() -> None:
    back = record("status", status="ready", prev_status="in_progress", rev=3, attempt=1)
    placed = record("task_ready", priority=0, front=NOW - 450)
    task = only_task(read(TASK, records=(back, placed)))
    assert task.times == Times(3, TASK.times.entered)
    assert task.run.front == NOW - 450


def post(text: str, crc: str, at: int) -> Message:
    return Message("PRIVMSG", ("#task-1", text), {DESCRIPTION_TAG: crc, "time": f"2026-01-{at:02}"})


OLD, NEW = "An old text", "A new text\nof two lines"
OLD_CRC, NEW_CRC = description.checksum(OLD), description.checksum(NEW)


@pytest.mark.parametrize(
    ("posts", "command", "found"),
    [
        pytest.param((post(NEW, NEW_CRC, 2), post(OLD, OLD_CRC, 1)), None, NEW, id="the newest"),
        pytest.param((post(NEW[:7], NEW_CRC, 2), post(NEW[7:], NEW_CRC, 3)), None, NEW,
                     id="in two posts"),
        pytest.param((post(NEW, NEW_CRC, 2), post(NEW, NEW_CRC, 3)), None, NEW, id="posted twice"),
        pytest.param((post(NEW[:7], NEW_CRC, 2), post(OLD, OLD_CRC, 1)), None, OLD,
                     id="the newest is not whole"),
        pytest.param((), Message("PRIVMSG", ("#tasks", "!new  A text ")), "A text",
                     id="what the command says"),
        pytest.param((), Message("PRIVMSG", ("#tasks", "controller: desc A text")), "A text",
                     id="what an addressed command says"),
        pytest.param((), Message("PRIVMSG", ("#tasks", "!desc +more")), None, id="an addition"),
        pytest.param((), None, None, id="nothing"),
    ],
)  # fmt: skip
def test_the_description_is_the_newest_post_that_is_whole(
    posts: tuple[Message, ...], command: Message | None, found: str | None
) -> None:
    assert choose_description(Need("#task-1"), posts, command) == found


# Beginning


def begin(rebuilt: Rebuilt) -> list[Job]:
    return Core(SETTINGS, rebuilt).begin(NOW)


def test_problems_are_said_in_tasks_a_few_at_a_time() -> None:
    rebuilt = read(topics={f"#task-{n}": "" for n in range(1, 12)})
    (say,) = (s for s in only(begin(rebuilt), Say) if s.target == "#tasks")
    assert say.notice
    assert len(say.lines) == 9
    assert say.lines[-1] == "… and 3 more"


def test_open_tasks_are_published_for_late_readers_twice_a_day_at_most() -> None:
    done = replace(TASK, channel="#task-2", status=Status.DONE)
    jobs = begin(read(TASK, done, control={"snapshot": str(NOW - 6 * 3600)}))
    assert [p.event.kind for p in only(jobs, Publish)] == ["task_snapshot", "task_snapshot_more"]
    assert only(jobs, SetMetadata) == [SetMetadata("#tasks", {"snapshot": str(NOW)})]
    assert begin(read(TASK, done, control={"snapshot": str(NOW - 6 * 3600 + 1)})) == []


def test_a_worker_that_lives_on_is_adopted_after_a_restart() -> None:
    ref = WorkerRef(1, 1, "local-11")
    found = WorkerList((WorkerSeen(ref, WorkerState.RUNNING),), complete=True)
    story = Story(read(TASK, workers=found))
    story.alive[1, 1] = found.workers[0]
    assert story.join("HAL-9000", live=False) == []
    assert story.sweep() == []
    story.report("[status] for_review", 1)
    assert story.task().status is Status.FOR_REVIEW


def test_a_kill_that_was_cut_off_is_finished_after_a_restart() -> None:
    killed = replace(TASK, status=Status.BLOCKED, reason="killed: by alice")
    ref = WorkerRef(1, 1, "local-11")
    found = WorkerList((WorkerSeen(ref, WorkerState.RUNNING),), complete=True)
    story = Story(read(killed, workers=found))
    story.alive[1, 1] = found.workers[0]
    assert [type(effect).__name__ for effect in effects(story.sweep())] == ["Kill"]
    jobs = story.ended("killed")
    assert [p.event.fields["reason"] for p in only(jobs, Publish)] == ["killed"]
