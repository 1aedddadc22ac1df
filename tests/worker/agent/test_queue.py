"""The three states of a waiting message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.agent_bench import user
from worker.agent.messages import UserMessage
from worker.agent.queue import PendingQueue, QueueMode

ONE, TWO, THREE = user("one"), user("two"), user("three")


def filled(mode: QueueMode) -> PendingQueue:
    queue = PendingQueue(mode)
    for message in (ONE, TWO, THREE):
        queue.put(message)
    return queue


@pytest.mark.parametrize(
    ("mode", "reserved"), [(QueueMode.ONE, (ONE,)), (QueueMode.ALL, (ONE, TWO, THREE))]
)
def test_a_turn_takes_what_the_mode_says(mode: QueueMode, reserved: tuple[object, ...]) -> None:
    queue = filled(mode)
    assert queue.reserve() == len(reserved)
    assert queue.reserved == reserved
    assert len(queue) == 3


def test_released_messages_come_first_again_and_in_order() -> None:
    queue = filled(QueueMode.ALL)
    queue.reserve()
    assert queue.commit() == ONE
    queue.release()
    assert (queue.reserved, queue.peek()) == ((), (TWO, THREE))


def test_reserving_twice_takes_nothing_more_one_at_a_time() -> None:
    queue = filled(QueueMode.ONE)
    queue.reserve()
    assert queue.reserve() == 1
    assert queue.reserved == (ONE,)


@given(
    st.lists(st.sampled_from(["put", "reserve", "commit", "release"])), st.sampled_from(QueueMode)
)
def test_messages_come_out_once_and_in_the_order_they_were_put(
    steps: list[str], mode: QueueMode
) -> None:
    queue = PendingQueue(mode)
    put: list[UserMessage] = []
    delivered: list[UserMessage] = []
    for step in steps:
        match step:
            case "put":
                put.append(user(f"message {len(put)}"))
                queue.put(put[-1])
            case "reserve":
                queue.reserve()
            case "commit" if queue.reserved:
                delivered.append(queue.commit())
            case "release":
                queue.release()
            case _:
                pass
    assert [*delivered, *queue.peek()] == put
