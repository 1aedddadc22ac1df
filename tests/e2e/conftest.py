"""The whole system for one test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.local_run import LocalRun, local_run


@pytest.fixture
async def run(ergo_binary: Path, tmp_path: Path) -> AsyncIterator[LocalRun]:
    """ergo and controller are up; the rehearsal model, no sandbox, quick sweeps."""
    async with local_run(ergo_binary, tmp_path / "home") as running:
        yield running
