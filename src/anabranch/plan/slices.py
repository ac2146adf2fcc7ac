"""Cuts a range of offsets into slices: each is one job and one commit, and all together are the range, once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from anabranch.plan.intervals import Intervals, union, width

Offsets = Mapping[int, tuple[int, int]]
"""[start, end) of each partition."""
Ranges = Mapping[int, Intervals]
"""Disjoint [start, end) of each partition, in order."""


@dataclass(frozen=True)
class Slice:
    """A piece of every partition's range. The id is stable: a slice that is in the table is not replayed again."""

    id: str
    offsets: Offsets

    @property
    def width(self) -> int:
        """How many offsets it spans; with transactions or compaction, more than it has records."""
        return sum(end - start for start, end in self.offsets.values())


OFFSETS_PER_SLICE = 200_000
FEWEST_OFFSETS = 10_000
USUAL_SLICES = 4


def slice_size(ranges: Ranges) -> int:
    """How many offsets a slice has if nobody says: few enough to lose little in a crash, enough to be worth a commit.

    A small backfill is still cut into a few slices, so that it shows progress and can be paused.
    """
    return min(OFFSETS_PER_SLICE, max(FEWEST_OFFSETS, -(-offsets_in(ranges) // USUAL_SLICES)))


def offsets_in(ranges: Ranges) -> int:
    return sum(width(each) for each in ranges.values())


def cut(ranges: Ranges, offsets_per_slice: int) -> tuple[Slice, ...]:
    """Slices of about `offsets_per_slice` offsets, each with its share of every partition so that all tasks work.

    A slice has one range of a partition. A share that goes over several of them becomes several slices.
    """
    count = -(-offsets_in(ranges) // offsets_per_slice)
    shares = ({p: _share(each, number, count) for p, each in sorted(ranges.items())} for number in range(count))
    # With fewer offsets than partitions in a slice, the shares of some are all nothing: such a slice is none.
    pieces = [piece for share in shares for piece in _pieces(share)]
    return tuple(Slice(f"s{number:05}", piece) for number, piece in enumerate(pieces))


def _share(intervals: Intervals, number: int, count: int) -> Intervals:
    """The `number`th of `count` equal parts, counted over the offsets of all intervals in a row."""
    total = width(intervals)
    first, after = total * number // count, total * (number + 1) // count
    found, passed = [], 0
    for start, end in intervals:
        low, high = max(start, start + first - passed), min(end, start + after - passed)
        if low < high:
            found.append((low, high))
        passed += end - start
    return tuple(found)


def _pieces(share: Mapping[int, Intervals]) -> Iterator[Offsets]:
    for number in range(max((len(each) for each in share.values()), default=0)):
        yield {partition: each[number] for partition, each in share.items() if number < len(each)}


def ranges_of(slices: Iterable[Slice]) -> dict[int, Intervals]:
    """All offsets of these slices."""
    found: dict[int, list[tuple[int, int]]] = {}
    for each in slices:
        for partition, piece in each.offsets.items():
            found.setdefault(partition, []).append(piece)
    return {partition: union(pieces) for partition, pieces in sorted(found.items())}
