"""A server that stores no history: every insert fails as on a full disk, which ergo logs and
otherwise hides (measured with 2.18.0: a full tmpfs and this look the same from outside).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from tests.support.ergo_server import ErgoServer

_FULL = (
    "CREATE TRIGGER full BEFORE INSERT ON history "
    "BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END"
)


@contextmanager
def full_disk(ergo: ErgoServer) -> Iterator[None]:
    path = ergo.home.ergo / "history.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as history:
        history.execute(_FULL)
        try:
            yield
        finally:
            history.execute("DROP TRIGGER full")
