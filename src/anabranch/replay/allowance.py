"""How fast a replay may read now, and who says so: the lowest of all limits counts. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol


@dataclass(frozen=True)
class Allowance:
    """What one source of limits allows at this moment."""

    source: str
    """Who says so, a label of metrics: `contract`, `throttle`, `governor`, `budget`, `pause`, `schedule`, `veto`, or
    `impact` (`allowance_words.SOURCES`)."""
    reason: str
    """Why, with values, for people: "live lag 41 s, target 10 s"."""
    bytes_per_second: int | None = None
    """None: unlimited."""
    paused: bool = False
    """Whether no slice may begin. A slice in flight goes on at `bytes_per_second`."""

    @property
    def stands_still(self) -> bool:
        """Whether nothing at all is to be read for the moment, of slices in flight neither."""
        return self.paused and self.bytes_per_second == STANDSTILL


UNLIMITED = Allowance("none", "no limit applies")
STANDSTILL = 1
"""Bytes per second at which a slice in flight reads nothing more: the client waits before its next record. For a wait
of seconds: brakes at the brokers are not asked."""


class RateSource(Protocol):
    def allowance(self) -> Allowance:
        """What this source allows now. Called about once a second, from any thread; returns at once."""


def lowest(allowances: Iterable[Allowance]) -> Allowance:
    """The allowance that counts: a pause before any rate, then the lowest rate; the first of equals.

    With a pause the lowest rate of all still holds for the slice in flight.
    """
    every = tuple(allowances)
    counts = min(every, key=_freedom, default=UNLIMITED)
    rate = min((each.bytes_per_second for each in every if each.bytes_per_second is not None), default=None)
    return counts if counts.bytes_per_second == rate else replace(counts, bytes_per_second=rate)


def _freedom(allowance: Allowance) -> tuple[bool, bool, int]:
    unlimited = allowance.bytes_per_second is None
    return (not allowance.paused, unlimited, allowance.bytes_per_second or 0)
