"""Cuts offsets into slices: each is one job and one commit, and together they have each offset once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from anabranch.plan.offsets.intervals import Intervals, union, width, without

Offsets = Mapping[int, tuple[int, int]]
"""[start, end) of each partition."""
Ranges = Mapping[int, Intervals]
"""Disjoint [start, end) of each partition, in order."""


@dataclass(frozen=True)
class Slice:
    """A part of every partition's range. The id is stable: a slice committed to staging is not replayed again."""

    id: str
    offsets: Offsets
    """The offsets that the ledger accounts to it. All slices together have each offset of the plan once."""
    reads: Ranges | None = None
    """What it reads, where that is more: windows need events that are accounted to other slices."""
    windows: tuple[int, int] | None = None
    """[first, after): the numbers of the target's partitions that it computes."""
    closes: int | None = None
    """Of a stream-faithful replay: the watermark (ms) up to which it closes windows."""

    @property
    def needed(self) -> Ranges:
        """All that it reads."""
        return {p: (each,) for p, each in self.offsets.items()} if self.reads is None else self.reads

    @property
    def width(self) -> int:
        """Number of offsets; with transactions or compaction, more than records."""
        return sum(end - start for start, end in self.offsets.values())


FEWEST_OFFSETS = 10_000
OFFSETS_PER_SLICE = 450_000
"""Enough for a commit: seconds of work, against half a second of constant cost per slice."""
MOST_OFFSETS = 2_000_000
"""A pause or a new limit takes effect between slices, so a slice must not take long."""
USUAL_SLICES = 24
"""A crash costs half a slice on average and what was prefetched: about a twentieth of the work."""
MOST_SLICES = 1_000
"""Each is a snapshot in the table's metadata."""
SIZE_IN_WORDS = (
    f"half of a small range, from {FEWEST_OFFSETS:,} to {OFFSETS_PER_SLICE:,} offsets; "
    f"1/{USUAL_SLICES} of a large one, up to {MOST_OFFSETS:,}; more only to stay within {MOST_SLICES:,} slices"
)
"""A description of `slice_size`, for help texts."""


def slice_size(ranges: Ranges) -> int:
    """The default number of offsets per slice: few, to lose little in a crash, and enough to justify a commit.

    A small backfill has two slices, so that it shows progress and can be paused.
    """
    total = offsets_in(ranges)
    small = min(OFFSETS_PER_SLICE, max(FEWEST_OFFSETS, -(-total // 2)))
    return max(small, min(MOST_OFFSETS, -(-total // USUAL_SLICES)), -(-total // MOST_SLICES))


def offsets_in(ranges: Ranges) -> int:
    return sum(width(each) for each in ranges.values())


def cut(ranges: Ranges, offsets_per_slice: int) -> tuple[Slice, ...]:
    """Slices of about `offsets_per_slice` offsets, each with its share of every partition so that all tasks work.

    A slice has one range per partition. A share with several ranges of a partition becomes several slices.
    """
    count = -(-offsets_in(ranges) // offsets_per_slice)
    shares = ({p: share_of(each, number, count) for p, each in sorted(ranges.items())} for number in range(count))
    # With fewer offsets than partitions in a slice, some shares are empty and give no slice.
    parts = [offsets for share in shares for offsets in layers(share)]
    return tuple(Slice(f"s{number:05}", offsets) for number, offsets in enumerate(parts))


def uncounted(offsets: Offsets, counted: Mapping[int, Intervals], offsets_per_slice: int) -> tuple[Slice, ...]:
    """Slices of the offsets that are not in `counted`."""
    left = {partition: without(union([each]), counted.get(partition, ())) for partition, each in offsets.items()}
    return cut({partition: each for partition, each in left.items() if each}, offsets_per_slice)


def share_of(intervals: Intervals, number: int, count: int) -> Intervals:
    """The `number`th of `count` equal parts of the intervals' offsets."""
    total = width(intervals)
    first, after = total * number // count, total * (number + 1) // count
    share, passed = [], 0
    for start, end in intervals:
        low, high = max(start, start + first - passed), min(end, start + after - passed)
        if low < high:
            share.append((low, high))
        passed += end - start
    return tuple(share)


def layers(ranges: Ranges) -> Iterator[Offsets]:
    """The first range of every partition, then the second, and so on: a job reads one range per partition."""
    for number in range(max((len(each) for each in ranges.values()), default=0)):
        yield {partition: each[number] for partition, each in ranges.items() if number < len(each)}


def ranges_of(slices: Iterable[Slice]) -> dict[int, Intervals]:
    """All offsets that these slices read."""
    read: dict[int, list[tuple[int, int]]] = {}
    for each in slices:
        for partition, intervals in each.needed.items():
            read.setdefault(partition, []).extend(intervals)
    return {partition: union(intervals) for partition, intervals in sorted(read.items())}
