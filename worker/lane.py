"""Our end of the control lane: what is still to be told, and what was already carried out. Pure.

Only the oldest directive is handed to the Outbox, so that what waits behind it can still be
replaced: while the controller is away, ten heartbeats become one and totals the newest.
"""

from __future__ import annotations

from collections import deque
from enum import Enum

from shared.directives import FromWorker, Meta, StatusReport, format_from_worker
from shared.outbox import Entry, Outbox
from worker.inbound import Directive


class Take(Enum):
    """What to do with a directive that arrived."""

    NEW = "new"
    """Carry it out."""
    OPEN = "open"
    """Being carried out: say nothing yet."""
    DONE = "done"
    """Confirm it again."""


class Lane:
    """Both directions of one attempt."""

    def __init__(self) -> None:
        self._outbox = Outbox()
        self._waiting: deque[FromWorker] = deque()
        self._in_flight: FromWorker | None = None
        self._confirmed_early: deque[str] = deque(maxlen=32)
        self._seqs: set[int] = set()
        self._causes: set[tuple[str, str]] = set()
        self._open: dict[str, int] = {}

    @property
    def empty(self) -> bool:
        """Everything is confirmed."""
        return self._in_flight is None and not self._waiting

    def put(self, directive: FromWorker) -> None:
        match directive:
            case StatusReport() if self._last_waiting_status() == directive:
                return
            case Meta(key=key):
                older = [d for d in self._waiting if isinstance(d, Meta) and d.key == key]
                for stale in older:
                    self._waiting.remove(stale)
            case _:
                pass
        self._waiting.append(directive)

    def due(self, now: float) -> Entry | None:
        """What to send now, if anything; counts as sent."""
        if self._in_flight is None and self._waiting:
            self._in_flight = self._waiting.popleft()
            self._outbox.put(format_from_worker(self._in_flight))
        return self._outbox.due(now)

    def rest(self) -> list[Entry]:
        """All that was not sent yet, in order, for once: nobody will wait for confirmations."""
        entries = [self._outbox.put(format_from_worker(each)) for each in self._waiting]
        self._waiting.clear()
        return entries

    def next_at(self) -> float | None:
        """When `due` has something next; None: nothing to send."""
        if self._in_flight is None:
            return 0.0 if self._waiting else None
        return self._outbox.next_at()

    def sent(self, entry: Entry, msgid: str) -> None:
        """The server echoed it under this msgid; its confirmation may have come before."""
        entry.msgids.add(msgid)
        if msgid in self._confirmed_early:
            self.confirmed(msgid)

    def confirmed(self, msgid: str) -> FromWorker | None:
        """The directive that is done with by this; None if the msgid is none of ours (yet)."""
        if self._outbox.confirmed(msgid) is None:
            self._confirmed_early.append(msgid)
            return None
        done, self._in_flight = self._in_flight, None
        return done

    def hurry(self) -> None:
        """The controller is there again."""
        self._outbox.hurry()

    def take(self, directive: Directive) -> Take:
        """NEW once per seq, and once per kind and command; a repeat has no effect of its own."""
        kind = type(directive.directive).__name__
        cause = (kind, directive.cause) if directive.cause else None
        again = directive.seq in self._seqs or cause in self._causes
        self._seqs.add(directive.seq)
        if cause:
            self._causes.add(cause)
        if again:
            return Take.OPEN if directive.seq in self._open.values() else Take.DONE
        self._open[directive.msgid] = directive.seq
        return Take.NEW

    def answered(self, msgid: str) -> None:
        """The directive of this msgid was carried out or refused."""
        self._open.pop(msgid, None)

    def _last_waiting_status(self) -> FromWorker | None:
        reports = [d for d in self._waiting if isinstance(d, StatusReport)]
        return reports[-1] if reports else None
