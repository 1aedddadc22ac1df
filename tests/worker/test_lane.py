from __future__ import annotations

from shared.directives import Meta, Resume, StatusReport, Stop
from shared.task import Status
from worker.inbound import Directive
from worker.lane import Lane, Take

BEAT = StatusReport(Status.IN_PROGRESS)
REVIEW = StatusReport(Status.FOR_REVIEW)


def sent_texts(lane: Lane) -> list[str]:
    """What goes out when the controller confirms everything at once."""
    texts = []
    while (entry := lane.due(0.0)) is not None:
        texts.append(f"{entry.seq} {entry.text}")
        lane.sent(entry, f"m{entry.seq}")
        lane.confirmed(f"m{entry.seq}")
    return texts


def test_what_waits_at_the_end_is_sent_once_in_order() -> None:
    lane = Lane()
    for text in ("1", "2", "3"):
        lane.put(Meta(f"key{text}", text))
    assert lane.due(0.0) is not None
    assert [(entry.seq, entry.text) for entry in lane.rest()] == [
        (2, "[meta] key2=2"),
        (3, "[meta] key3=3"),
    ]
    assert lane.rest() == []


def test_directives_go_in_order_and_count_from_one() -> None:
    lane = Lane()
    for directive in (BEAT, Meta("turns", "1"), REVIEW):
        lane.put(directive)
    assert sent_texts(lane) == [
        "1 [status] in_progress",
        "2 [meta] turns=1",
        "3 [status] for_review",
    ]
    assert lane.empty


def test_one_is_in_flight_and_is_repeated_until_confirmed() -> None:
    lane = Lane()
    lane.put(BEAT)
    lane.put(REVIEW)
    first = lane.due(0.0)
    assert first is not None
    lane.sent(first, "a")
    assert lane.due(1.0) is None
    again = lane.due(2.0)
    assert again is first
    lane.sent(again, "b")
    assert lane.confirmed("a") == BEAT
    following = lane.due(2.0)
    assert following is not None
    assert following.text == "[status] for_review"


def test_while_the_controller_is_away_heartbeats_and_totals_do_not_pile_up() -> None:
    lane = Lane()
    for turn in range(20):
        lane.put(BEAT)
        lane.put(Meta("turns", str(turn)))
    lane.put(REVIEW)
    assert sent_texts(lane) == [
        "1 [status] in_progress",
        "2 [meta] turns=19",
        "3 [status] for_review",
    ]


def test_a_confirmation_that_overtakes_its_echo_counts() -> None:
    lane = Lane()
    lane.put(BEAT)
    entry = lane.due(0.0)
    assert entry is not None
    assert lane.confirmed("a") is None
    lane.sent(entry, "a")
    assert lane.empty


def test_the_controllers_return_repeats_at_once() -> None:
    lane = Lane()
    lane.put(BEAT)
    entry = lane.due(0.0)
    assert lane.due(1.0) is None
    lane.hurry()
    assert lane.due(1.0) is entry


def directive(seq: int, msgid: str, cause: str | None = "c") -> Directive:
    return Directive(Stop("alice"), seq, "controller", msgid, cause)


def test_a_directive_is_taken_once_per_seq_and_per_command() -> None:
    lane = Lane()
    assert lane.take(directive(10, "a")) is Take.NEW
    assert lane.take(directive(10, "b")) is Take.OPEN
    lane.answered("a")
    assert lane.take(directive(10, "c")) is Take.DONE
    assert lane.take(directive(11, "d")) is Take.DONE
    assert lane.take(directive(12, "e", cause="another")) is Take.NEW
    assert lane.take(Directive(Resume("x"), 13, "controller", "f", "c")) is Take.NEW
