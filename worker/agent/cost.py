"""What tokens cost. The table is third-party data of November 2026: operators can put their own in
its place, and a model that is not in it costs "unknown", never zero.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from worker.agent.messages import AssistantMessage, Usage

if TYPE_CHECKING:
    from worker.agent.messages import Message

MILLION = 1_000_000
LONG_LIVED_WRITE_FACTOR = 2.0
"""A cache write that lives for an hour costs this times the input price."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    """With a lifetime of five minutes."""
    long_prompt_tokens: int | None = None
    """Prompts over this many tokens cost `long_prompt_factor` times as much."""
    long_prompt_factor: float = 1.0


PRICES: Mapping[str, Price] = {
    "rehearsal": Price(0, 0, 0, 0),
    "claude-fable-5": Price(10, 50, 1, 12.5),
    "claude-fable-5-1": Price(10, 50, 0.25, 12.5),
    "claude-fable-5-2": Price(8, 40, 0.2, 10),
    "claude-opus-4-5": Price(5, 25, 0.5, 6.25),
    "claude-opus-4-6": Price(5, 25, 0.5, 6.25),
    "claude-opus-4-7": Price(5, 25, 0.5, 6.25),
    "claude-opus-4-8": Price(5, 25, 0.5, 6.25),
    "claude-opus-5": Price(5, 25, 0.5, 6.25),
    "claude-opus-5-5": Price(4, 20, 0.2, 5),
    "claude-sonnet-4-5": Price(3, 15, 0.3, 3.75),
    "claude-sonnet-4-6": Price(3, 15, 0.3, 3.75),
    "claude-sonnet-5": Price(2, 10, 0.2, 2.5),
    "claude-sonnet-5-5": Price(2, 10, 0.1, 2.5),
    "claude-haiku-4-5": Price(1, 5, 0.1, 1.25),
    "claude-haiku-5-5": Price(0.1, 0.5, 0.01, 0.125, 100_000, 5.0),
}


@dataclass(frozen=True, slots=True)
class Totals:
    """What a conversation has used."""

    usage: Usage
    usd: float | None
    """None: unknown, because a model's price is."""


def cost_usd(usage: Usage, model: str, prices: Mapping[str, Price] = PRICES) -> float | None:
    """None for a model that is not in the table; a release date at the end of a name is ignored."""
    price = prices.get(model) or prices.get(re.sub(r"-\d{8}$", "", model))
    if price is None:
        return 0.0 if usage == Usage() else None
    long = price.long_prompt_tokens is not None and usage.prompt_tokens > price.long_prompt_tokens
    dollars = (
        usage.input_tokens * price.input
        + usage.output_tokens * price.output
        + usage.cache_read_tokens * price.cache_read
        + usage.cache_write_tokens * price.cache_write
        + usage.cache_write_1h_tokens * price.input * LONG_LIVED_WRITE_FACTOR
    )
    return dollars * (price.long_prompt_factor if long else 1.0) / MILLION


def totals(messages: Iterable[Message], prices: Mapping[str, Price] = PRICES) -> Totals:
    """Failed and dropped tries are billed as well, so they count."""
    usage = Usage()
    usd: float | None = 0.0
    for message in messages:
        if isinstance(message, AssistantMessage):
            for part in (message.usage, message.wasted):
                usage += part
                cost = cost_usd(part, message.model, prices)
                usd = None if usd is None or cost is None else usd + cost
    return Totals(usage, usd)
