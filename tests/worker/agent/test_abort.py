"""The one signal that stops a run."""

from __future__ import annotations

import asyncio

import pytest

from worker.agent.abort import Abort, Aborted


async def test_a_block_is_left_by_the_abort_and_a_later_one_is_not_entered() -> None:
    abort = Abort()
    asyncio.get_running_loop().call_soon(abort.set)
    with pytest.raises(Aborted):
        async with abort.interruptible():
            await asyncio.Event().wait()
    with pytest.raises(Aborted):
        async with abort.interruptible():
            raise AssertionError("entered")


async def test_aborting_twice_is_aborting_once() -> None:
    abort = Abort()

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            abort.set()

    asyncio.get_running_loop().call_soon(abort.set)
    with pytest.raises(Aborted):
        async with abort.interruptible():
            await stubborn()


async def test_a_block_may_finish_within_its_grace() -> None:
    abort = Abort()
    asyncio.get_running_loop().call_soon(abort.set)
    finished = False
    async with abort.interruptible(grace_seconds=10):
        await abort.event.wait()
        finished = True
    assert finished


async def test_a_timeout_of_the_block_itself_is_no_abort() -> None:
    with pytest.raises(TimeoutError):
        async with Abort().interruptible():
            raise TimeoutError


async def test_a_cancellation_from_outside_stays_one() -> None:
    abort = Abort()
    entered = asyncio.Event()

    async def work() -> None:
        async with abort.interruptible():
            entered.set()
            await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(work())
        await entered.wait()
        task.cancel()
    assert task.cancelled()
