from __future__ import annotations

from controller.amends import FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS, FreshStarts


def test_the_first_fresh_start_comes_at_once_and_the_next_a_minute_later() -> None:
    starts = FreshStarts()
    assert starts.seconds_until_next(5.0) == 0
    starts.took(5.0)
    assert starts.seconds_until_next(6.0) == FIRST_WAIT_SECONDS - 1
    assert starts.seconds_until_next(5.0 + FIRST_WAIT_SECONDS) == 0


def test_fresh_starts_that_do_not_help_come_ever_more_rarely() -> None:
    starts, now, waits = FreshStarts(), 0.0, []
    for _ in range(9):
        starts.took(now)
        waits.append(starts.seconds_until_next(now))
        now += waits[-1]
    assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600, LONGEST_WAIT_SECONDS]


def test_after_a_quiet_time_they_begin_anew() -> None:
    starts = FreshStarts()
    starts.took(0.0)
    starts.took(60.0)
    starts.took(60.0 + 240.0)
    assert starts.seconds_until_next(300.0) == FIRST_WAIT_SECONDS
