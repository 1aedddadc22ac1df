import pytest

from shared.directives import (
    Budget,
    Bye,
    ControlTag,
    FromWorker,
    Leave,
    Meta,
    PermissionAsked,
    PermissionVerdict,
    Resume,
    Say,
    StatusReport,
    Stop,
    ToWorker,
    UnknownDirective,
    format_from_worker,
    format_to_worker,
    parse_control_tag,
    parse_from_worker,
    parse_to_worker,
)
from shared.task import Status

FROM_WORKER = [
    ("[status] in_progress", StatusReport(Status.IN_PROGRESS)),
    ("[status] blocked question: which?", StatusReport(Status.BLOCKED, "question: which?")),
    ("[meta] pr=https://f.example/1?a=b open", Meta("pr", "https://f.example/1?a=b open")),
    ("[PERM 1-2] bash: git push -f", PermissionAsked("1-2", "bash", "git push -f")),
    ("[bye] idle abc", Bye("idle", "abc")),
]
TO_WORKER = [
    ("[stop] alice", Stop("alice")),
    (
        "[perm 1-2] denied bob not on a friday",
        PermissionVerdict("1-2", "denied", "bob", "not on a friday"),
    ),
    ("[perm 1-2] allowed bob", PermissionVerdict("1-2", "allowed", "bob")),
    ("[resume] abc", Resume("abc")),
    (
        "[say] alice requester abc use main, please",
        Say("alice", "requester", "abc", "use main, please"),
    ),
    ("[budget] 2.5", Budget(2.5)),
    ("[leave] completed by alice", Leave("completed by alice")),
]


@pytest.mark.parametrize(("text", "directive"), FROM_WORKER, ids=[t for t, _ in FROM_WORKER])
def test_a_workers_directive_reads_back(text: str, directive: FromWorker) -> None:
    assert parse_from_worker(text) == directive
    assert format_from_worker(directive) == text


@pytest.mark.parametrize(("text", "directive"), TO_WORKER, ids=[t for t, _ in TO_WORKER])
def test_a_controllers_directive_reads_back(text: str, directive: ToWorker) -> None:
    assert parse_to_worker(text) == directive
    assert format_to_worker(directive) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "[status]",
        "[status] asleep",
        "[meta] pr",
        "[PERM 1] bash",
        "[bye] idle",
        "[dance] now",
    ],
)
def test_what_fits_no_form_of_a_worker_is_kept_as_unknown(text: str) -> None:
    assert parse_from_worker(text) == UnknownDirective(text)
    assert format_from_worker(UnknownDirective(text)) == text


@pytest.mark.parametrize("text", ["", "[budget] much", "[say] alice", "[perm 1] ok", "[dance] now"])
def test_what_fits_no_form_of_the_controller_is_kept_as_unknown(text: str) -> None:
    assert parse_to_worker(text) == UnknownDirective(text)
    assert format_to_worker(UnknownDirective(text)) == text


def test_a_control_tag_reads_back() -> None:
    assert parse_control_tag("12.3.45") == ControlTag(12, 3, 45)
    assert str(ControlTag(12, 3, 45)) == "12.3.45"


@pytest.mark.parametrize("value", ["", "1.2", "1.2.3.4", "1.-2.3", "a.b.c", "1.2.٣", "1.2. 3"])
def test_a_broken_control_tag_is_none(value: str) -> None:
    assert parse_control_tag(value) is None
