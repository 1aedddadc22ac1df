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


async def _kept(part: Flaky) -> list[str]:
    """What the keeper said until all runs of the part were used."""
    said: list[str] = []
    async with asyncio.TaskGroup() as group:
        keeper = group.create_task(keep(part, said.append))
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


async def test_a_start_that_fails_is_told_with_its_own_reason() -> None:
    said = await _kept(Flaky([0, None]))

    assert said[1] == "ergo ended (no room); starting it again in 0.4 s"


async def test_a_killed_part_has_no_last_words() -> None:
    said = await _kept(Flaky([0], status=-9))

    assert said[0] == "ergo ended (signal 9); starting it again in 0.2 s"
