"""Cuts a range of offsets into slices: each is one job and one commit, and all together are the range, once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Offsets = Mapping[int, tuple[int, int]]
"""[start, end) of each partition."""


@dataclass(frozen=True)
class Slice:
    """A piece of every partition's range. The id is stable: a slice that is in the table is not replayed again."""

    id: str
    offsets: Offsets
    """What it answers for in the ledger. All slices together have each offset of the plan once."""
    reads: Offsets | None = None
    """What it reads, where that is more: windows need events that other slices answer for."""
    windows: tuple[int, int] | None = None
    """[first, after): the partitions of the target that it computes, by number."""

    @property
    def needed(self) -> Offsets:
        return self.offsets if self.reads is None else self.reads

    @property
    def width(self) -> int:
        """How many offsets it spans; with transactions or compaction, more than it has records."""
        return sum(end - start for start, end in self.offsets.values())


OFFSETS_PER_SLICE = 200_000
FEWEST_OFFSETS = 10_000
USUAL_SLICES = 4


def slice_size(ranges: Offsets) -> int:
    """How many offsets a slice has if nobody says: few enough to lose little in a crash, enough to be worth a commit.

    A small backfill is still cut into a few slices, so that it shows progress and can be paused.
    """
    total = sum(end - start for start, end in ranges.values())
    return min(OFFSETS_PER_SLICE, max(FEWEST_OFFSETS, -(-total // USUAL_SLICES)))


def cut(ranges: Offsets, offsets_per_slice: int) -> tuple[Slice, ...]:
    """Slices of about `offsets_per_slice` offsets, each with its share of every partition so that all tasks work."""
    total = sum(end - start for start, end in ranges.values())
    count = -(-total // offsets_per_slice)
    # With fewer offsets than partitions in a slice, the shares of some are all nothing: such a slice is none.
    pieces = [piece for piece in (_piece(ranges, number, count) for number in range(count)) if piece]
    return tuple(Slice(f"s{number:05}", piece) for number, piece in enumerate(pieces))


def _piece(ranges: Offsets, number: int, count: int) -> Offsets:
    piece = {
        partition: (start + (end - start) * number // count, start + (end - start) * (number + 1) // count)
        for partition, (start, end) in sorted(ranges.items())
    }
    return {partition: (start, end) for partition, (start, end) in piece.items() if start < end}
