"""What tests of file tools share."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_NOBODY = 65534


@pytest.fixture
def ordinary_folder() -> Iterator[Path]:
    """An empty folder, and a test that has no more rights than its mode bits give: root gives up
    its own until the test ends."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        before = os.geteuid()
        if before == 0:
            os.setresuid(_NOBODY, _NOBODY, before)  # the real one too: access() asks for it
        try:
            yield folder
        finally:
            os.setresuid(before, before, before)
