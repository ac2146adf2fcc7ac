"""Cuts a range of offsets into slices: each is one job and one commit, and all together are the range, once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from anabranch.plan.offsets.intervals import Intervals, union, width

Offsets = Mapping[int, tuple[int, int]]
"""[start, end) of each partition."""
Ranges = Mapping[int, Intervals]
"""Disjoint [start, end) of each partition, in order."""


@dataclass(frozen=True)
class Slice:
    """A piece of every partition's range. The id is stable: a slice that is in the table is not replayed again."""

    id: str
    offsets: Offsets
    """What it answers for in the ledger. All slices together have each offset of the plan once."""
    reads: Ranges | None = None
    """What it reads, where that is more: windows need events that other slices answer for."""
    windows: tuple[int, int] | None = None
    """[first, after): the partitions of the target that it computes, by number."""
    closes: int | None = None
    """Of a replay as a stream: the watermark (ms) up to which it closes windows."""

    @property
    def needed(self) -> Ranges:
        """All that it reads."""
        return {p: (each,) for p, each in self.offsets.items()} if self.reads is None else self.reads

    @property
    def width(self) -> int:
        """How many offsets it spans; with transactions or compaction, more than it has records."""
        return sum(end - start for start, end in self.offsets.values())


FEWEST_OFFSETS = 10_000
OFFSETS_PER_SLICE = 450_000
"""Enough to be worth a commit: seconds of work, against half a second that a slice costs by itself."""
MOST_OFFSETS = 2_000_000
"""So that a pause, a new limit or a resting broker need not be waited for."""
USUAL_SLICES = 24
"""What a crash costs is half a slice and what was begun of the next ones: a twentieth of the work."""
MOST_SLICES = 1_000
"""Each is a commit to the table, which knows all of them."""
SIZE_IN_WORDS = (
    f"half of a small range, from {FEWEST_OFFSETS:,} to {OFFSETS_PER_SLICE:,} offsets; "
    f"1/{USUAL_SLICES} of a large one, up to {MOST_OFFSETS:,}; more only to stay within {MOST_SLICES:,} slices"
)
"""What `slice_size` decides, for people."""


def slice_size(ranges: Ranges) -> int:
    """How many offsets a slice has if nobody says: few enough to lose little in a crash, enough to be worth a commit.

    A small backfill is still cut in two, so that it shows progress and can be paused.
    """
    total = offsets_in(ranges)
    small = min(OFFSETS_PER_SLICE, max(FEWEST_OFFSETS, -(-total // 2)))
    return max(small, min(MOST_OFFSETS, -(-total // USUAL_SLICES)), -(-total // MOST_SLICES))


def offsets_in(ranges: Ranges) -> int:
    return sum(width(each) for each in ranges.values())


def cut(ranges: Ranges, offsets_per_slice: int) -> tuple[Slice, ...]:
    """Slices of about `offsets_per_slice` offsets, each with its share of every partition so that all tasks work.

    A slice has one range of a partition. A share that goes over several of them becomes several slices.
    """
    count = -(-offsets_in(ranges) // offsets_per_slice)
    shares = ({p: share_of(each, number, count) for p, each in sorted(ranges.items())} for number in range(count))
    # With fewer offsets than partitions in a slice, the shares of some are all nothing: such a slice is none.
    pieces = [slice_ for share in shares for slice_ in layers(share)]
    return tuple(Slice(f"s{number:05}", slice_) for number, slice_ in enumerate(pieces))


def share_of(intervals: Intervals, number: int, count: int) -> Intervals:
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


def layers(ranges: Ranges) -> Iterator[Offsets]:
    """The first range of every partition, then the second, and so on: at a time, one of a partition can be read."""
    for number in range(max((len(each) for each in ranges.values()), default=0)):
        yield {partition: each[number] for partition, each in ranges.items() if number < len(each)}


def ranges_of(slices: Iterable[Slice]) -> dict[int, Intervals]:
    """All offsets that these slices read."""
    found: dict[int, list[tuple[int, int]]] = {}
    for each in slices:
        for partition, pieces in each.needed.items():
            found.setdefault(partition, []).extend(pieces)
    return {partition: union(pieces) for partition, pieces in sorted(found.items())}
