"""One logging set-up for every program: to stderr, with known secrets taken out of each line.

Passwords that travel over IRC are masked where they are printed (`Message.__repr__`); this is the
second line of defence, for whatever else might carry them.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable

_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
_MASK = "***"
_SHORTEST_SECRET = 6  # shorter ones would mask ordinary words, and are no secrets
_CHATTY = ("irc", "asyncio", "httpx", "httpcore", "anthropic", "kubernetes", "urllib3")


class SecretsFormatter(logging.Formatter):
    """Masks secrets in the finished text, so that arguments and tracebacks are covered too."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__(_FORMAT)
        self._secrets: set[str] = set()
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str) -> None:
        """From now on this text is masked; too short a one is ignored."""
        if len(secret) >= _SHORTEST_SECRET:
            self._secrets.add(secret)

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        task = getattr(record, "task", None)
        if task is not None:
            text = f"{text} [task {task}]"
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, _MASK)
        return text


def set_up_logging(
    level: str = "INFO", secrets: Iterable[str] = (), stream: TextIO | None = None
) -> SecretsFormatter:
    """Send the log of this process to `stream` (stderr); secrets learned later are `add`ed."""
    formatter = SecretsFormatter(secrets)
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(formatter)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLogger().level))
    return formatter
