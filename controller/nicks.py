"""Names of workers: a friendly pool, then `agent-<k>`, and which of them are ours. Pure.

Ours are the names that METADATA of #agents lists (`pool.0` ... and `pool_agents`); a name that
exists and is not listed there belongs to a person (design 3).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from shared.ircv3.casemap import Folded, fold

POOL = (
    "HAL-9000", "GLaDOS", "Marvin", "R2-D2", "C-3PO", "WALL-E", "EVE", "Bender", "KITT", "Data",
    "TARS", "CASE", "Johnny-5", "Robby", "Gort", "Bishop", "Roy-Batty", "Deep-Thought", "Holly",
    "Kryten", "Optimus", "Sonny", "Baymax", "Chappie", "BB-8", "K-2SO", "Ultron", "JARVIS",
    "FRIDAY", "Cortana", "Wintermute", "Multivac", "Daneel", "Giskard", "Skippy", "Mycroft",
    "Joshua", "VIKI", "SHODAN", "Legion",
)  # fmt: skip

_AGENT = re.compile(r"agent-([1-9][0-9]*)", re.I)
_FOLDED_POOL = frozenset(fold(name) for name in POOL)
_PIECE_BYTES = 300


@dataclass(frozen=True, slots=True)
class Pool:
    """Which names are ours."""

    names: tuple[str, ...] = ()
    """Friendly names that we registered, in that order."""
    agents: int = 0
    """Highest k of the `agent-<k>` that we registered."""
    claimed: frozenset[Folded] = field(default_factory=frozenset)
    """Names found to be a person's; skipped for ever."""

    def lists(self, account: str) -> bool:
        agent = _AGENT.fullmatch(account)
        if agent:
            return int(agent[1]) <= self.agents and fold(account) not in self.claimed
        return fold(account) in {fold(name) for name in self.names}

    def with_name(self, account: str) -> Pool:
        """This name is registered and ours."""
        if self.lists(account):
            return self
        agent = _AGENT.fullmatch(account)
        if agent:
            return Pool(self.names, max(self.agents, int(agent[1])), self.claimed)
        return Pool((*self.names, account), self.agents, self.claimed)

    def with_person(self, account: str) -> Pool:
        """This name is a person's."""
        return Pool(self.names, self.agents, self.claimed | {fold(account)})

    def to_metadata(self) -> dict[str, str]:
        """`pool.<n>` holds names by comma, <= 300 bytes; `pool_agents` one number."""
        pieces: list[str] = []
        for name in self.names:
            if pieces and len(pieces[-1]) + len(name) < _PIECE_BYTES:
                pieces[-1] += f",{name}"
            else:
                pieces.append(name)
        values = {f"pool.{n}": piece for n, piece in enumerate(pieces)}
        return values | ({"pool_agents": str(self.agents)} if self.agents else {})


def pool_from_metadata(values: Mapping[str, str]) -> Pool:
    """Read it back; a number that is none counts as 0."""
    names: list[str] = []
    piece = 0
    while raw := values.get(f"pool.{piece}"):
        names += [name for name in raw.split(",") if name]
        piece += 1
    agents = values.get("pool_agents", "")
    return Pool(tuple(names), int(agents) if agents.isdecimal() else 0)


def first_free(taken: Collection[Folded], claimed_by_people: Collection[Folded]) -> str:
    """The first friendly name that nobody has, else the first `agent-<k>`."""
    for name in POOL:
        if fold(name) not in taken and fold(name) not in claimed_by_people:
            return name
    k = 1
    while fold(f"agent-{k}") in taken or fold(f"agent-{k}") in claimed_by_people:
        k += 1
    return f"agent-{k}"


def is_reserved(name: str) -> bool:
    """Names that no person may be given."""
    folded = fold(name)
    return (
        folded in _FOLDED_POOL
        or folded.startswith("agent-")
        or folded in (fold("controller"), fold("dashboard"))
    )
