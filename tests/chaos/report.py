"""The table of a run, for the terminal and for docs/reliability.md."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from tests.chaos.campaign import Outcome
from tests.chaos.faults import Fault, Struck


def rows(struck: Sequence[Struck]) -> list[tuple[str, ...]]:
    """One a kind of fault: how many, seconds to heal (median, longest), how many did not."""
    found: list[tuple[str, ...]] = []
    for fault in Fault:
        mine = [s for s in struck if s.fault is fault]
        healed = [s.healed for s in mine if s.healed is not None]
        if mine:
            middle = f"{median(healed):.1f}" if healed else "-"
            longest = f"{max(healed):.1f}" if healed else "-"
            found.append(
                (str(fault), str(len(mine)), middle, longest, str(len(mine) - len(healed)))
            )
    return found


def summary(outcome: Outcome) -> list[tuple[str, ...]]:
    """What was asked of it and what became of that."""
    verdict = outcome.verdict
    return [
        (
            str(len(outcome.struck)),
            str(verdict.commands),
            str(verdict.directives),
            str(len(verdict.lost)),
            str(len(verdict.doubled)),
            str(len(verdict.drifted)),
        )
    ]


SUMMARY_HEAD = ("faults", "commands", "directives", "lost", "doubled", "drifted")
HEAD = ("fault", "times", "seconds to heal, median", "longest", "not healed")


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """In Markdown, with columns that line up in a terminal too."""
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(c.ljust(w) for c, w in zip(cells, widths, strict=True))} |"

    return "\n".join([line(head), line(["-" * w for w in widths]), *map(line, body)])


def text(outcome: Outcome) -> str:
    """For the terminal."""
    plan = outcome.plan
    return "\n\n".join(
        [
            f"seed {plan.seed}: {outcome.stories} tasks, {outcome.scripted} scripted lines, "
            f"{outcome.seconds:.0f} s",
            table(HEAD, rows(outcome.struck)),
            table(SUMMARY_HEAD, summary(outcome)),
            *(["\n".join(outcome.verdict.lines())] if outcome.verdict.lines() else []),
        ]
    )
