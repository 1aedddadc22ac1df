"""Every line once, and whole: what was seen, what is open, what belongs together (design 6). Pure.

The same rules hold live and in catch-up; only an old command is treated differently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto

from controller.commands.parse import parse_command
from controller.commands.table import COMMANDS
from controller.effects import Handled, Spoken
from controller.limits import CoreSettings
from shared.firehose import Record
from shared.ircv3.casemap import fold

CUT_BYTES = range(340, 513)
"""A line this long may have been cut by its client (350 bytes The Lounge, 380 weechat ...); a
longer text came as one multiline message and is whole."""
_LOUNGE_BYTES = range(347, 351)
"""The Lounge cuts at 350 bytes wherever that is; the others cut at a space and drop it."""
_REMEMBER_SECONDS = 900


@dataclass(frozen=True, slots=True)
class Whole:
    """A line with all that belongs to it; `msgid` and `at` are the first piece's."""

    line: Spoken
    pieces: int = 1


class Standing(Enum):
    """What is known of a command when it is heard."""

    NEW = auto()
    ANSWERED = auto()
    DONE = auto()
    """It is on #firehose and was not answered."""
    TOO_OLD = auto()


@dataclass(slots=True)
class _Waiting:
    """A line that may go on."""

    whole: Whole
    last: Spoken
    """Its last piece."""
    due_at: float


class Intake:
    """Of one connection."""

    def __init__(
        self,
        settings: CoreSettings,
        causes: Mapping[str, tuple[Record, ...]],
        answered: frozenset[str],
        watermark: float,
    ) -> None:
        self._settings = settings
        self._causes = causes
        self._answered = answered
        self._watermark = watermark
        self._newest = watermark
        self._seen: dict[str, float] = {}
        self._open: dict[str, float] = {}
        self._waiting: dict[tuple[str, str], _Waiting] = {}

    def admit(self, line: Spoken, now: float) -> list[Whole]:
        """What is complete now; [] where it was heard before, or waits for its rest."""
        if line.msgid in self._seen:
            return []
        if line.msgid:
            self._seen[line.msgid] = line.at
        self._newest = max(self._newest, line.at)
        key = (fold(line.place), fold(line.account or line.nick))
        waiting = self._waiting.pop(key, None)
        if waiting is not None and self._goes_on(waiting, line):
            first = waiting.whole.line
            text = join(first.text, waiting.last.text, line.text)
            whole = Whole(replace(first, text=text), waiting.whole.pieces + 1)
            self._waiting[key] = self._wait(whole, line, now)
            return []
        complete = [] if waiting is None else [waiting.whole]
        if self._may_be_cut(line):
            self._waiting[key] = self._wait(Whole(line), line, now)
            return complete
        return [*complete, Whole(line)]

    def flush(self, now: float) -> list[Whole]:
        """Lines whose rest has not come in time."""
        due = [key for key, waiting in self._waiting.items() if waiting.due_at <= now]
        return [self._waiting.pop(key).whole for key in due]

    def due_at(self) -> float | None:
        return min((waiting.due_at for waiting in self._waiting.values()), default=None)

    def standing(self, line: Spoken, now: float) -> Standing:
        if line.msgid in self._answered:
            return Standing.ANSWERED
        if line.msgid in self._causes:
            return Standing.DONE
        if not line.live and now - line.at > self._settings.command_max_age_seconds:
            return Standing.TOO_OLD
        return Standing.NEW

    def done(self, msgid: str) -> tuple[Record, ...]:
        """What this line is known to have done."""
        return self._causes.get(msgid, ())

    def opened(self, msgid: str, at: float) -> None:
        """A job that ends in Handled is on its way."""
        self._open[msgid] = at

    def handled(self, done: Handled) -> None:
        self._open.pop(done.msgid, None)

    def pass_watermark(self, bound: float | None) -> float | None:
        """The new watermark; None while something is open, or nothing is new.

        `bound` = a line that may still have to do something; None = there is none.
        """
        newest = self._newest if bound is None else min(self._newest, bound)
        if self._open or self._waiting or newest <= self._watermark:
            return None
        self._watermark = newest
        forget = self._watermark - _REMEMBER_SECONDS
        self._seen = {msgid: at for msgid, at in self._seen.items() if at >= forget}
        return self._watermark

    def _wait(self, whole: Whole, piece: Spoken, now: float) -> _Waiting:
        heard = now if piece.live else piece.at
        return _Waiting(whole, piece, heard + self._settings.continuation_seconds)

    def _goes_on(self, waiting: _Waiting, line: Spoken) -> bool:
        parsed = parse_command(line, self._settings.account)
        own_command = parsed is not None and parsed.explicit
        in_time = line.at - waiting.last.at <= self._settings.continuation_seconds
        return in_time and not own_command and "\n" not in line.text

    def _may_be_cut(self, line: Spoken) -> bool:
        if line.account is None or "\n" in line.text:
            return False
        if len(line.text.encode()) not in CUT_BYTES:
            return False
        parsed = parse_command(line, self._settings.account)
        command = COMMANDS.get(parsed.word) if parsed is not None else None
        return command is not None and command.multiline


def join(text: str, last: str, rest: str) -> str:
    """Put a cut text together, `last` being its last piece so far: as cut where the client keeps
    the space or cuts words, else with the space that it dropped."""
    as_cut = last.endswith(" ") or rest.startswith(" ") or len(last.encode()) in _LOUNGE_BYTES
    return f"{text}{'' if as_cut else ' '}{rest}"
