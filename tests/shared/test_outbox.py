from hypothesis import given
from hypothesis import strategies as st

from shared.outbox import Inbox, Outbox


def test_a_directive_is_repeated_with_the_same_seq_until_it_is_confirmed() -> None:
    box = Outbox()
    box.put("[status] in_progress")
    sent = []
    for now in (0.0, 1.0, 2.0, 5.9, 6.0, 14.0, 30.0, 59.9, 60.0):
        if entry := box.due(now):
            entry.msgids.add(f"m{now}")
            sent.append((now, entry.seq))
    assert sent == [(0.0, 1), (2.0, 1), (6.0, 1), (14.0, 1), (30.0, 1), (60.0, 1)]
    confirmed = box.confirmed("m2.0")
    assert confirmed is not None
    assert confirmed.text == "[status] in_progress"
    assert (len(box), box.due(1000.0), box.next_at()) == (0, None, None)


def test_one_directive_is_in_flight_at_a_time() -> None:
    box = Outbox(last_seq=4)
    box.put("a")
    box.put("b")
    first = box.due(0.0)
    assert first is not None
    assert (first.text, first.seq) == ("a", 5)
    assert box.due(1.0) is None
    first.msgids.add("m1")
    assert box.confirmed("m1") is first
    second = box.due(1.0)
    assert second is not None
    assert (second.text, second.seq) == ("b", 6)


def test_a_confirmation_of_something_else_changes_nothing() -> None:
    box = Outbox()
    box.put("a")
    assert box.confirmed("nobody") is None
    assert len(box) == 1


def test_the_other_sides_join_brings_the_repeat_at_once() -> None:
    box = Outbox()
    box.put("a")
    for now in (0.0, 2.0, 6.0):
        assert box.due(now)
    assert box.due(7.0) is None
    box.hurry()
    assert box.due(7.0)
    assert box.next_at() == 9.0


def test_a_seq_is_raised_above_both_the_clock_and_the_last() -> None:
    box = Outbox()
    assert box.put("a", at_least=1_800_000_000_000).seq == 1_800_000_000_000
    assert box.put("b", at_least=1_700_000_000_000).seq == 1_800_000_000_001


@given(st.lists(st.integers(min_value=1, max_value=20)))
def test_each_seq_is_taken_once_and_never_after_a_higher_one(seqs: list[int]) -> None:
    inbox = Inbox()
    taken = [seq for seq in seqs if inbox.take(seq)]
    assert taken == sorted(set(taken))
    assert inbox.highest == max(seqs, default=0)
