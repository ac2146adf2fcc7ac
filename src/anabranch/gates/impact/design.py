"""The blocks of an experiment: pairs of one with and one without the replay, the order drawn for each pair. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import ceil
from random import Random
from typing import Any

PAIRS = 12
BLOCK_SECONDS, SETTLE_SECONDS = 20.0, 5.0
LONG_BATCH_SECONDS = 10.0
"""Live with longer batches needs longer blocks: a batch mixes what arrived in both otherwise."""


@dataclass(frozen=True)
class Block:
    number: int
    """From 1, in the order of time."""
    pair: int
    """From 1."""
    on: bool
    """Whether the replay reads."""
    start: float
    """Seconds after the beginning of the experiment."""
    end: float


@dataclass(frozen=True)
class Design:
    pairs: int
    block_seconds: float
    settle_seconds: float
    """Of each block, dropped at its beginning: what is left of the block before it."""
    seed: int
    """Draws the order of each pair. On record, so that the order can be checked not to have been chosen."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        draw = Random(self.seed)  # noqa: S311 - to be repeatable is the point
        first = [draw.random() < 0.5 for _ in range(self.pairs)]
        order = [on for on_first in first for on in (on_first, not on_first)]
        length = self.block_seconds
        return tuple(
            Block(number, (number + 1) // 2, on, (number - 1) * length, number * length)
            for number, on in enumerate(order, start=1)
        )

    @property
    def seconds(self) -> float:
        return 2 * self.pairs * self.block_seconds

    def block_at(self, seconds: float) -> Block | None:
        """The block so long after the beginning; None: the experiment is over."""
        index = int(seconds // self.block_seconds)
        return self.blocks[index] if 0 <= index < 2 * self.pairs else None

    def document(self) -> dict[str, Any]:
        return asdict(self)


def read_design(document: Mapping[str, Any]) -> Design:
    return Design(**{name: document[name] for name in ("pairs", "block_seconds", "settle_seconds", "seed")})


def block_lengths(batch_seconds: float) -> tuple[float, float]:
    """How long a block is, and how much of it is dropped, for live whose batches take so long."""
    if batch_seconds <= LONG_BATCH_SECONDS:
        return BLOCK_SECONDS, SETTLE_SECONDS
    length = 5.0 * ceil(2 * batch_seconds / 5)
    return length, length * SETTLE_SECONDS / BLOCK_SECONDS
