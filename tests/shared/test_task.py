from hypothesis import given
from hypothesis import strategies as st

from shared.description import cut_bytes
from shared.task import (
    Reason,
    Run,
    Status,
    Task,
    Times,
    Usage,
    Why,
    format_topic,
    parse_reason,
    title_from,
    title_of_topic,
)
from shared.task_metadata import Problems, changes, from_metadata, to_metadata

FULL = Task(
    channel="#web-task-12",
    title="fix the flaky checkout test",
    status=Status.BLOCKED,
    requester="alice",
    assignee="HAL-9000",
    created=1_800_000_000,
    reason="question: which branch?",
    pr="https://forge.example/pr/1 open",
    blocked_by=("#task-3", "#web-task-4"),
    repo="web",
    repo_url="https://forge.example/web.git",
    default_branch="main",
    model="claude-opus-5",
    budget=2.5,
    priority=3,
    run=Run(2, "HAL-9000", "local-42", "agent", 1, 0, 1_800_000_100),
    times=Times(7, {Status.PENDING: 1_800_000_000, Status.BLOCKED: 1_800_000_200}),
    usage=Usage(0.25, 1000, 200, 50, 4),
)


def test_a_task_survives_the_way_through_metadata() -> None:
    found = Problems()
    assert from_metadata(FULL.channel, to_metadata(FULL), FULL.title, found) == FULL
    assert found == []


def test_every_value_fits_what_ergo_accepts() -> None:
    long = Task(channel="#task-1", reason="failed: " + "ä" * 400, requester="alice")
    for key, value in to_metadata(long).items():
        assert len(key.encode()) + len(value.encode()) <= 350


def test_only_what_changed_is_written_and_what_is_gone_is_deleted() -> None:
    old = Task("#task-1", status=Status.BLOCKED, requester="alice", reason="stopped")
    new = Task("#task-1", status=Status.READY, requester="alice", times=Times(1))
    assert changes(old, new) == {"status": "ready", "times": '{"rev":1}', "reason": None}
    assert changes(new, new) == {}


def test_bad_values_are_named_and_left_at_their_default() -> None:
    found = Problems()
    values = {"status": "asleep", "run": "[1]", "times": "{", "created": "soon"}
    assert from_metadata("#task-9", values, "t", found) == Task("#task-9", "t")
    assert len(found) == 5
    assert "#task-9 has no requester" in found


def test_values_of_a_newer_controller_are_read_as_far_as_known() -> None:
    found = Problems()
    values = {"requester": "a", "run": '{"attempt":3,"colour":"red"}', "times": '{"rev":2,"zen":1}'}
    task = from_metadata("#task-9", values, "t", found)
    assert (task.run.attempt, task.times) == (3, Times(2, {}))
    assert found == []


def test_a_topic_holds_state_and_title_within_what_ergo_keeps() -> None:
    topic = format_topic(Status.IN_PROGRESS, "ü" * 400)
    assert topic.startswith("[in_progress] ü")
    assert len(topic.encode()) <= 390
    assert title_of_topic("[ready] mend [the] door") == "mend [the] door"
    assert title_of_topic("set by a person") == "set by a person"


def test_a_title_is_the_first_line_that_says_something() -> None:
    assert title_from("\n  \n fix   it \nmore") == "fix it"
    assert title_from("") == ""
    assert title_from("x" * 200) == "x" * 99 + "…"


def test_a_reason_reads_back() -> None:
    reason = Reason(Why.TOOL_TIME, "bash: took 31 min")
    assert parse_reason(str(reason)) == reason
    assert parse_reason("stopped") == Reason(Why.STOPPED)
    assert parse_reason("weary: of it all") is None


def test_late_totals_never_lower_the_usage() -> None:
    assert Usage(1.0, 5, 5, 0, 2).at_least(Usage(0.5, 9, 1, 0, 3)) == Usage(1.0, 9, 5, 0, 3)


@given(st.text(), st.integers(min_value=3, max_value=60))
def test_a_cut_never_splits_a_character_and_never_exceeds(text: str, budget: int) -> None:
    cut = cut_bytes(text, budget)
    assert len(cut.encode()) <= max(budget, 0) or cut == text
    assert cut == text or text.startswith(cut.removesuffix("…"))
