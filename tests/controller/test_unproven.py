from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controller.unproven import Sent, Unproven


def unproven(*lines: str) -> Unproven:
    log = Unproven()
    for at, line in enumerate(lines):
        log.echoed(line, float(at))
    return log


def test_what_is_stored_is_forgotten_and_the_rest_is_missing_in_order() -> None:
    log = unproven("a", "b", "c")
    assert log.missing(log.waiting(), {"b"}) == (Sent("a", 0.0), Sent("c", 2.0))
    assert log.waiting() == (Sent("a", 0.0), Sent("c", 2.0))


def test_what_was_sent_after_the_look_is_neither_proven_nor_missing() -> None:
    log = unproven("a")
    checked = log.waiting()
    log.echoed("b", 1.0)
    assert log.missing(checked, {"a"}) == ()
    assert log.waiting() == (Sent("b", 1.0),)


@given(st.lists(st.text("abc", max_size=2), unique=True), st.sets(st.text("abc", max_size=2)))
def test_nothing_that_is_not_stored_is_ever_forgotten(lines: list[str], stored: set[str]) -> None:
    log = unproven(*lines)
    missing = [sent.line for sent in log.missing(log.waiting(), stored)]
    assert missing == [line for line in lines if line not in stored]
    assert [sent.line for sent in log.waiting()] == missing
