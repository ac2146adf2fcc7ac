"""Whether each slice is read before retention deletes its first offsets, and the order in which most are. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf, isfinite
from typing import Any

from anabranch.plan.retention.facts import RetentionFacts, starts_of
from anabranch.plan.retention.loss import Loss, LossBy, loss_of
from anabranch.plan.slices import Slice
from anabranch.runs.canonical import instant_text

SAFETY = 1.5
"""The time left of a replay counts this often: for pauses, retries and slices that take longer."""

SliceSeconds = Callable[[Slice], float]
"""How long a slice takes."""


@dataclass(frozen=True)
class RaceEntry:
    """The tightest slice of one partition: when retention may delete its first offset, and when it will be read."""

    partition: int
    offset: int
    slice_id: str
    loss: Loss | None
    """None: unknown."""
    needed: float
    """Seconds until the slice is read, with SAFETY; 0 while the rate is unknown."""

    @property
    def headroom(self) -> float:
        """Seconds to spare; negative: the race is lost. Infinite also where the loss is unknown."""
        return inf if self.loss is None else self.loss.seconds - self.needed

    @property
    def is_lost(self) -> bool:
        return self.loss is not None and (self.headroom < 0 or self.loss.seconds <= 0)

    def document(self, at: datetime) -> dict[str, Any]:
        loss = self.loss
        return {
            "partition": self.partition,
            "offset": self.offset,
            "slice": self.slice_id,
            "known": loss is not None,
            "deleted_by": None if loss is None or loss.by is None else loss.by.value,
            "expires_at": _moment(at, None if loss is None else loss.seconds),
            "expires_at_latest": _moment(at, None if loss is None else loss.at_latest),
            "seconds_to_loss": None if loss is None else _finite(loss.seconds),
            "seconds_needed": round(self.needed, 1),
            "headroom_seconds": _finite(self.headroom),
            "lost": self.is_lost,
        }


def race_of(slices: Sequence[Slice], seconds: SliceSeconds, facts: RetentionFacts) -> tuple[RaceEntry, ...]:
    """The slices in this order, one entry a partition, the tightest first."""
    worst: dict[int, RaceEntry] = {}
    for entry in entries_of(slices, seconds, facts):
        known = worst.get(entry.partition)
        if known is None or _tightness(entry) < _tightness(known):
            worst[entry.partition] = entry
    return tuple(sorted(worst.values(), key=lambda each: (*_tightness(each), each.partition)))


def entries_of(slices: Sequence[Slice], seconds: SliceSeconds, facts: RetentionFacts) -> Iterator[RaceEntry]:
    """Each slice and partition: a slice is read once all before it and itself are."""
    elapsed = 0.0
    for slice_ in slices:
        elapsed += SAFETY * seconds(slice_)
        for partition, offset in sorted(starts_of(slice_).items()):
            yield RaceEntry(partition, offset, slice_.id, loss_of(facts, partition, offset), elapsed)


def is_lost(race: Sequence[RaceEntry]) -> bool:
    return any(each.is_lost for each in race)


def lateness(race: Sequence[RaceEntry]) -> float:
    """How many seconds the latest slice is too late; negative: all are in time. Minus infinity without a limit."""
    return -min((each.headroom for each in race), default=inf)


def soonest_first(slices: Sequence[Slice], facts: RetentionFacts) -> tuple[Slice, ...]:
    """Slices whose offsets expire soonest go first, equal ones in their order.

    By Jackson's rule no other order makes the greatest lateness smaller.
    """
    return tuple(sorted(slices, key=lambda each: expiry_of(each, facts)))


def expiry_of(slice_: Slice, facts: RetentionFacts) -> float:
    """Seconds until the first of the slice's offsets may be deleted; unknown ones count as never."""
    losses = (loss_of(facts, partition, offset) for partition, offset in starts_of(slice_).items())
    return min((each.seconds for each in losses if each is not None), default=inf)


def expiring(race: Sequence[RaceEntry]) -> Mapping[int, RaceEntry]:
    """The partitions that lose, with their first slice that is too late."""
    return {each.partition: each for each in race if each.is_lost}


def is_by_size(race: Sequence[RaceEntry]) -> bool:
    """Whether a partition loses by its size, which a longer retention.ms does not prevent."""
    return any(each.is_lost and each.loss is not None and each.loss.by is not LossBy.TIME for each in race)


def _tightness(entry: RaceEntry) -> tuple[bool, float]:
    return (not entry.is_lost, entry.headroom)


def _finite(seconds: float) -> float | None:
    return round(seconds, 1) if isfinite(seconds) else None


def _moment(at: datetime, seconds: float | None) -> str | None:
    if seconds is None or not isfinite(seconds) or abs(seconds) > 10**10:
        return None
    return instant_text(at + timedelta(seconds=seconds))
