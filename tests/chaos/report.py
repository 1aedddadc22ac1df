"""The table of a run, for the terminal and for docs/reliability.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from tests.chaos.campaign import Outcome
from tests.chaos.faults import Fault, Struck
from tests.chaos.scenes import Thawed

SUMMARY_HEAD = ("faults", "commands", "directives", "lost", "doubled", "drifted")
HEAD = ("fault", "times", "seconds to heal, median", "longest", "not healed")


@dataclass(frozen=True)
class Result:
    """All of one `make chaos`."""

    outcome: Outcome
    thawed: Thawed
    frozen_seconds: float

    @property
    def good(self) -> bool:
        return self.outcome.good and self.thawed.good


def rows(struck: Sequence[Struck]) -> list[tuple[str, ...]]:
    """One a kind of fault: how many, seconds to heal (median, longest), how many did not."""
    found: list[tuple[str, ...]] = []
    for fault in Fault:
        mine = [s for s in struck if s.fault is fault]
        healed = [s.healed for s in mine if s.healed is not None]
        if mine:
            middle = f"{median(healed):.1f}" if healed else "-"
            longest = f"{max(healed):.1f}" if healed else "-"
            left = str(len(mine) - len(healed))
            found.append((str(fault), str(len(mine)), middle, longest, left))
    return found


def summary(outcome: Outcome) -> tuple[str, ...]:
    """What was asked of it and what became of that."""
    verdict = outcome.verdict
    counts = (
        len(outcome.struck), verdict.commands, verdict.directives,
        len(verdict.lost), len(verdict.doubled), len(verdict.drifted),
    )  # fmt: skip
    return tuple(map(str, counts))


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """In Markdown, with columns that line up in a terminal too."""
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(c.ljust(w) for c, w in zip(cells, widths, strict=True))} |"

    return "\n".join([line(head), line(["-" * w for w in widths]), *map(line, body)])


def campaign_text(outcome: Outcome) -> str:
    """Without the last scene."""
    parts = [
        f"Seed {outcome.plan.seed}: {outcome.stories} tasks, {outcome.scripted} scripted lines "
        f"of people, {outcome.seconds:.0f} s.",
        table(HEAD, rows(outcome.struck)),
        table(SUMMARY_HEAD, [summary(outcome)]),
    ]
    return "\n\n".join([*parts, *_wrong(outcome.verdict.lines())])


def text(result: Result) -> str:
    """For the terminal."""
    return f"{campaign_text(result.outcome)}\n\n{_thawed(result)}"


def _wrong(lines: Sequence[str]) -> list[str]:
    return ["\n".join(f"- {line}" for line in lines)] if lines else []


def _thawed(result: Result) -> str:
    thawed = result.thawed
    end = (
        "it went on" if thawed.exit_code is None else f"it ended with exit code {thawed.exit_code}"
    )
    found = "something" if thawed.changed else "nothing"
    told = (
        f"A controller that was frozen for {result.frozen_seconds:.0f} s in the middle of a "
        f"command, and continued beside its replacement: {end}, and {found} was changed."
    )
    return "\n\n".join([told, *_wrong(thawed.verdict.lines())])


def document(result: Result) -> str:
    """docs/reliability.md"""
    outcome = result.outcome
    rounds = max(Counter(outcome.plan.faults).values(), default=0)
    return _PAGE.format(
        rounds=rounds, seed=outcome.plan.seed, result=campaign_text(outcome), thawed=_thawed(result)
    )


_PAGE = """<!-- Written by `python -m tests.chaos --write` from what it measured. -->

# Reliability

`make chaos` has several people work through a seeded script on a real ergo with a real controller
and real workers, and meanwhile kills, freezes and cuts off the parts, at moments that it picks
between two effects: an event on #firehose, a METADATA write, a topic, an answer, a command, or
none at all. What dies is started again as `make run` does it. Then a ledger is drawn up from what
the server stored.

- **lost**: a command that the server stored and that has no answer, or whose answer is not true;
  a transition that is missing in the log; a line that never reached its worker; a task that does
  not come to the end that its people wanted, or lacks a file that it was to write.
- **doubled**: two answers to one command, two effects of one line or directive, a revision, a
  worker or a number of a task that there is twice, a step that ran twice in one attempt.
- **drifted**: METADATA, topic, description, modes, the log, the living workers, the next number or
  the watermark say different things once all is quiet.
- **seconds to heal**: from the beginning of the fault until a command that was said after it is
  answered; for a killed worker until its end is told and, where it was at work, the next one is.

## Measured

{result}

{thawed}

## Again

```
CHAOS_ROUNDS={rounds} CHAOS_SEED={seed} .venv/bin/python -m tests.chaos --write
```

`make chaos` is a short form, and takes the same variables; another seed is another script with
other faults at other moments. The same seed gives the same script and the same faults, while the
moments follow what the machine does. A still shorter form runs with `make test-slow`, and with it
three controllers with a bug put in on purpose (`tests/chaos/mutants.py`): log after METADATA,
watermark before handling, no fence. Each must fail its scene.

`CHAOS_FAULTS="disk full"` fills the disk under ergo, which then echoes every line and stores none.
It needs the right to mount a small file system, so it comes only where it is named.
"""
