from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shared.send_queue import Pacing, Priority, SendQueue

ITEMS = st.lists(st.tuples(st.sampled_from(Priority), st.integers(1, 6)), max_size=40)


def filled(items: list[tuple[Priority, int]], pacing: Pacing | None) -> SendQueue[int]:
    queue: SendQueue[int] = SendQueue(pacing, now=0.0)
    for number, (priority, cost) in enumerate(items):
        queue.put(number, priority, cost)
    return queue


def run_dry(queue: SendQueue[int]) -> list[tuple[float, int]]:
    """All items with the time at which each went, following the queue's own advice."""
    now, sent = 0.0, []
    while (wait := queue.seconds_until_next(now)) is not None:
        now += wait
        taken = queue.take(now)
        assert taken, "the queue named a time at which nothing could go"
        sent += [(now, item) for item in taken]
    return sent


@given(ITEMS)
def test_the_urgent_goes_first_and_equals_keep_their_order(
    items: list[tuple[Priority, int]],
) -> None:
    sent = [item for _, item in run_dry(filled(items, Pacing(5, 2.0)))]
    assert sent == sorted(range(len(items)), key=lambda n: items[n][0])


@given(ITEMS, st.integers(1, 8), st.sampled_from([0.5, 2.0, 10.0]))
def test_no_more_than_burst_and_rate_allow_ever_goes(
    items: list[tuple[Priority, int]], burst: int, per_second: float
) -> None:
    sent = run_dry(filled(items, Pacing(burst, per_second)))
    paid = 0
    for now, item in sent:
        if items[item][0] is not Priority.CONTROL:
            due = min(items[item][1], burst)
            assert paid + due <= burst + now * per_second + 1e-6
        paid += items[item][1]


@given(ITEMS)
def test_without_pacing_everything_goes_at_once(items: list[tuple[Priority, int]]) -> None:
    queue = filled(items, None)
    assert len(queue.take(0.0)) == len(items)
    assert (len(queue), queue.seconds_until_next(0.0)) == (0, None)


def test_a_burst_goes_at_once_and_the_rest_at_the_rate() -> None:
    sent = run_dry(filled([(Priority.NORMAL, 1)] * 6, Pacing(4, 2.0)))
    assert [round(now, 6) for now, _ in sent] == [0.0, 0.0, 0.0, 0.0, 0.5, 1.0]


def test_silence_earns_no_more_than_a_burst() -> None:
    queue = filled([(Priority.NORMAL, 1)] * 9, Pacing(3, 1.0))
    assert [len(queue.take(now)) for now in (0.0, 0.0, 100.0, 100.0, 101.0)] == [3, 0, 3, 0, 1]


def test_control_never_waits_but_is_paid_for() -> None:
    queue = filled([(Priority.NORMAL, 1), (Priority.NORMAL, 1)], Pacing(1, 1.0))
    assert queue.take(0.0) == [0]
    queue.put(9, Priority.CONTROL)
    assert queue.take(0.0) == [9]
    assert queue.seconds_until_next(0.0) == 2.0


def test_bulk_does_not_overtake_what_is_waiting_before_it() -> None:
    queue = filled([(Priority.BULK, 1), (Priority.NORMAL, 3)], Pacing(3, 1.0))
    queue.put(2, Priority.NORMAL, 2)
    assert queue.take(0.0) == [1]
    assert queue.take(1.0) == []
    assert queue.take(2.0) == [2]


def test_an_item_dearer_than_the_bucket_goes_from_a_full_one() -> None:
    queue = filled([(Priority.NORMAL, 10), (Priority.NORMAL, 1)], Pacing(4, 2.0))
    assert queue.take(0.0) == [0]
    assert queue.seconds_until_next(0.0) == 3.5


def test_a_clock_that_steps_back_earns_nothing() -> None:
    queue = filled([(Priority.NORMAL, 1)] * 2, Pacing(1, 1.0))
    assert (queue.take(5.0), queue.take(1.0), queue.take(5.5)) == ([0], [], [])


def test_draining_gives_back_all_that_was_waiting() -> None:
    queue = filled([(Priority.BULK, 1), (Priority.CONTROL, 1)], Pacing(1, 1.0))
    assert (queue.drain(), len(queue)) == ([1, 0], 0)
