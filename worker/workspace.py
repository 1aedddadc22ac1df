"""The folders of a task: where tools work, and beside it what they never see.

Git comes here later; today the workspace is a plain folder that outlives the attempt.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from worker.errors import StartFailed

_TRANSCRIPT = "transcript.jsonl"


@dataclass(frozen=True, slots=True)
class Workspace:
    """Both folders exist."""

    path: Path
    transcript: Path


def open_workspace(path: str, state: str) -> Workspace:
    """Make what is missing. Raises StartFailed."""
    folder, kept = Path(path), Path(state)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        kept.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StartFailed(f"the workspace {folder} cannot be made: {error.strerror}") from error
    return Workspace(folder, kept / _TRANSCRIPT)
