"""Tests of the test: each rule has a scene that the controller passes and its mutant does not."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.chaos.parts import PROGRAM
from tests.chaos.scenes import (
    Scene,
    frozen_beside_a_replacement,
    killed_at_a_state_write,
    killed_while_a_slow_command_is_open,
    scene,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]

FROZEN_SECONDS = 6.0
"""Longer than a silence after which a controller asks before it acts; `make chaos` takes 60."""


def _mutant(name: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "tests.chaos.mutants", name)


async def _frozen(stage: Scene) -> bool:
    return (await frozen_beside_a_replacement(stage, FROZEN_SECONDS)).good


async def _state_write(stage: Scene) -> bool:
    return (await killed_at_a_state_write(stage)).clean


async def _slow_command(stage: Scene) -> bool:
    return (await killed_while_a_slow_command_is_open(stage)).clean


@pytest.mark.parametrize(
    ("play", "mutant", "slots"),
    [
        pytest.param(_state_write, "log_after_metadata", "0", id="log first"),
        pytest.param(_slow_command, "watermark_before_handling", "0", id="watermark last"),
        pytest.param(_frozen, "no_fence", "1", id="one controller"),
    ],
)
@pytest.mark.parametrize("sane", [True, False], ids=["controller", "mutant"])
async def test_a_scene_tells_the_controller_from_its_mutant(
    ergo_binary: Path,
    tmp_path: Path,
    play: Callable[[Scene], Awaitable[bool]],
    mutant: str,
    slots: str,
    sane: bool,
) -> None:
    program = PROGRAM if sane else _mutant(mutant)
    async with scene(ergo_binary, tmp_path / "h", program, MAX_ACTIVE_TOTAL=slots) as stage:
        assert await play(stage) is sane
