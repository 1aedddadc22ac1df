from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from controller.errors import LocalError
from controller.local.keeper import keep

if TYPE_CHECKING:
    import looptime

pytestmark = pytest.mark.looptime


@dataclass
class Flaky:
    """A part that runs for the given seconds each time; None = it does not even start."""

    runs: list[float | None]
    name: str = "ergo"
    status: int = 2
    starts: list[float] = field(default_factory=list)
    all_used: asyncio.Event = field(default_factory=asyncio.Event)

    async def start(self) -> None:
        self.starts.append(asyncio.get_running_loop().time())
        if self.runs and self.runs[0] is None:
            self.runs.pop(0)
            raise LocalError("no room")

    async def wait(self) -> int:
        if not self.runs:
            self.all_used.set()
            await asyncio.Event().wait()
        await asyncio.sleep(self.runs.pop(0) or 0)
        return self.status

    def last_words(self) -> str:
        return "fatal error: concurrent map writes"


@dataclass
class Tasks:
    """#tasks, which cannot be reached the first times."""

    refusals: int = 0
    told: list[str] = field(default_factory=list)

    async def tell(self, text: str) -> bool:
        if self.refusals:
            self.refusals -= 1
            return False
        self.told.append(text)
        return True


async def _kept(part: Flaky, tasks: Tasks | None = None) -> list[str]:
    """What the keeper said until all runs of the part were used."""
    said: list[str] = []
    tell = (tasks or Tasks()).tell
    async with asyncio.TaskGroup() as group:
        keeper = group.create_task(keep(part, said.append, tell))
        await part.all_used.wait()
        keeper.cancel()
    return said


async def test_it_says_why_and_starts_the_part_again(looptime: looptime.LoopTimeProxy) -> None:
    assert await _kept(Flaky([5])) == [
        "ergo ended (exit 2: fatal error: concurrent map writes); starting it again in 0.2 s",
        "ergo runs again",
    ]
    assert looptime == 5.2


@pytest.mark.parametrize(
    ("runs", "pauses"),
    [
        pytest.param([0, 0, 0], [0.2, 0.4, 0.8], id="longer while it dies at once"),
        pytest.param([0, None, None], [0.2, 0.4, 0.8], id="longer while it does not start"),
        pytest.param([0, 0, 61], [0.2, 0.4, 0.2], id="short again after a healthy run"),
        pytest.param([0] * 10, [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30], id="bounded"),
    ],
)
async def test_pauses_between_starts(runs: list[float | None], pauses: list[float]) -> None:
    said = await _kept(Flaky(runs))

    ends = [line for line in said if "starting it again in" in line]
    assert [float(line.split()[-2]) for line in ends] == pauses


@pytest.mark.parametrize(
    ("runs", "refusals", "told"),
    [
        pytest.param([0, 0], 0, [], id="twice is an accident"),
        pytest.param([0, 0, 0, 0, 0], 0, [3], id="the third time it is told, once"),
        pytest.param([0, None, None], 0, [3], id="a start that fails counts"),
        pytest.param([0, 0, 0, 0, 0], 2, [4], id="again until somebody can hear it"),
        pytest.param([0, 0, 61, 0], 0, [], id="not after a healthy run"),
    ],
)
async def test_a_part_that_ends_at_once_is_reported_in_tasks(
    runs: list[float | None], refusals: int, told: list[int]
) -> None:
    tasks = Tasks(refusals)
    await _kept(Flaky(runs), tasks)
    starts = [f"ergo ends at once, {times} times in a row" for times in told]
    assert [text.partition(" (")[0] for text in tasks.told] == starts


async def test_a_start_that_fails_is_told_with_its_own_reason() -> None:
    said = await _kept(Flaky([0, None]))

    assert said[1] == "ergo ended (no room); starting it again in 0.4 s"


async def test_a_killed_part_has_no_last_words() -> None:
    said = await _kept(Flaky([0], status=-9))

    assert said[0] == "ergo ended (signal 9); starting it again in 0.2 s"
