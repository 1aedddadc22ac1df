"""Turns the path a model wrote into a real one.

No confinement to the workspace here: what tools may see is the sandbox's business.
"""

from __future__ import annotations

import errno
import re
from pathlib import Path

from worker.tools import ToolError

_ODD_SPACES = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000]")


def resolve_path(value: object, workspace: Path) -> Path:
    """`~` is expanded, one leading `@` removed; relative to the workspace. Symlinks stay."""
    if not isinstance(value, str) or not value:
        raise ToolError("path: a non-empty string is needed")
    if "\0" in value:
        raise ToolError("path: it holds a NUL character; send it without")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"path: {error.reason} at position {error.start}") from error
    path = workspace / Path(value.removeprefix("@")).expanduser()
    if path.exists():
        return path
    # models copy odd spaces out of formatted text; the real name nearly always has plain ones
    return workspace / Path(_ODD_SPACES.sub(" ", value.removeprefix("@"))).expanduser()


def explain(error: OSError, path: Path) -> ToolError:
    """An error of the system as the model should read it: errno name, words, path."""
    name = errno.errorcode.get(error.errno or 0, "error")
    return ToolError(f"{path}: {error.strerror or error} ({name})")
