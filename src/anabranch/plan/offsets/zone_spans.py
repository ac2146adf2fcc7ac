"""Spans: when, by event time, and where, by offsets, the events of a zone are. Few of them, never too narrow; pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

HOUR = 3_600_000_000
"""In microseconds. No target is partitioned more finely, so that a span within an hour is in a range or is not."""
CELL = 128
"""Offsets that are counted together. Events of an hour that stand closer than that are one span: what is between them
is read with them."""
MOST_SPANS = 16
"""Of one zone. Beyond it some become one, which widens what may be in the range and never narrows it."""


@dataclass(frozen=True, slots=True)
class ZoneSpan:
    """`count` events with event times of [low, high] (µs since 1970), all at offsets of [start, end)."""

    low: int
    high: int
    count: int
    start: int
    end: int

    def touches(self, start: int, end: int) -> bool:
        """Whether it may contain an event of [start, end), in µs."""
        return self.low < end and self.high >= start


def gathered(spans: Iterable[ZoneSpan]) -> tuple[ZoneSpan, ...]:
    """Spans with nearby ones of the same hour merged, at most MOST_SPANS.

    Up to that number the result does not depend on how the events were grouped when counted.
    """
    joined: list[ZoneSpan] = []
    for span in sorted(spans, key=lambda each: (each.low // HOUR, each.start, each.end)):
        last = joined[-1] if joined else None
        if last is not None and last.low // HOUR == span.low // HOUR and span.start < last.end + CELL:
            joined[-1] = _covering(last, span)
        else:
            joined.append(span)
    return _fewer(joined)


def area(span: ZoneSpan) -> int:
    """Offsets times hours: what is read if every hour is requested once."""
    return (span.high // HOUR - span.low // HOUR + 1) * (span.end - span.start)


def _fewer(spans: list[ZoneSpan]) -> tuple[ZoneSpan, ...]:
    """Merge neighbours in time where that adds the least area."""
    costs = {at: area(_covering(*pair)) - sum(map(area, pair)) for at, pair in enumerate(pairwise(spans), start=1)}
    cheapest = set(sorted(costs, key=costs.__getitem__)[: max(0, len(spans) - MOST_SPANS)])
    merged: list[ZoneSpan] = []
    for at, span in enumerate(spans):
        if at in cheapest:
            merged[-1] = _covering(merged[-1], span)
        else:
            merged.append(span)
    return tuple(merged)


def _covering(one: ZoneSpan, other: ZoneSpan) -> ZoneSpan:
    return ZoneSpan(
        min(one.low, other.low),
        max(one.high, other.high),
        one.count + other.count,
        min(one.start, other.start),
        max(one.end, other.end),
    )
