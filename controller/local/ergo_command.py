"""The ergo program as a command line: a method per subcommand that we use, short and blocking."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from controller.errors import LocalError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

COMMAND_SECONDS = 20
_TIMESTAMP = re.compile(r"^[\d/:.TZ-]+ (?:[\d:]+ )?")
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True)
class ErgoCommand:
    """An executable that claims to be ergo."""

    path: Path

    def version(self) -> tuple[int, int, int]:
        """The release that the binary reports as `ergo-2.18.0`, whatever follows the numbers."""
        reported = self._run(["--version"]).strip()
        found = _VERSION.search(reported)
        if found is None:
            raise LocalError(f"{self.path} does not tell its version (it says {reported[:60]!r})")
        major, minor, patch = (int(number) for number in found.groups())
        return major, minor, patch

    def default_config(self) -> str:
        """The commented YAML file that ships inside the binary."""
        return self._run(["defaultconfig"])

    def hash_password(self, password: str) -> str:
        """The bcrypt hash that an `opers` block wants; the password goes by stdin, not by argv."""
        return self._run(["genpasswd"], stdin=password + "\n").strip()

    def make_database(self, config: Path) -> None:
        """`initdb`: loads and checks the configuration, then makes an empty datastore beside it."""
        self._run(["initdb", "--quiet", "--conf", str(config)], cwd=config.parent)

    def _run(self, args: Sequence[str], *, stdin: str = "", cwd: Path | None = None) -> str:
        try:
            done = subprocess.run(
                [str(self.path), *args],
                input=stdin,
                cwd=cwd,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=COMMAND_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise LocalError(f"{self.path} cannot be run: {error}") from error
        if done.returncode != 0:
            raise LocalError(explain(self.path, done.stderr or done.stdout))
        return done.stdout


def explain(binary: Path, output: str) -> str:
    """Turn what ergo said before it exited into one line with the way out."""
    for sign, meaning in _MEANINGS:
        if sign in output:
            return f"{binary} {meaning}"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = _TIMESTAMP.sub("", lines[-1]) if lines else "it said nothing"
    return f"{binary} failed: {last}"


_MEANINGS = (
    (
        "not built with SQLite",
        "was built without sqlite history; build it with the tags 'i18n sqlite'",
    ),
    ("You must configure a MySQL, PostgreSQL, or SQLite", "knows no sqlite history (too old)"),
    ("Couldn't acquire flock", "is already running on this data folder (ircd.lock is held)"),
    ("address already in use", "found its port taken; set IRC_PORT to another one"),
    ("Datastore already exists", "has a datastore already"),
)
