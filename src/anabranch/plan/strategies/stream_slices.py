"""Live's batches as the slices of a stream-faithful replay: joined where it changes nothing, up to a cap. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from anabranch.contract.event_window import EventWindow
from anabranch.plan.slices import Offsets, Slice
from anabranch.plan.strategies.live_batches import LiveBatch
from anabranch.plan.target_range import EPOCH, PartitionRange

WINDOWS_PER_BATCH = 1000
"""Windows of the range that one batch closes, if nobody says: months of them can come out in minutes otherwise."""
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True)
class RangeWindows:
    """The windows that begin in the range, counted in the order in which they end."""

    size: int
    step: int
    first: int
    """By number: the window that begins at `first * step` ms."""
    after: int

    @classmethod
    def of(cls, window: EventWindow, partitions: PartitionRange) -> RangeWindows:
        if window.size is None:
            raise AssertionError("sessions are not replayed stream-faithful")
        step = window.step // _MILLISECOND
        first, after = (-(-_millis(moment) // step) for moment in (partitions.start, partitions.end))
        return cls(window.size // _MILLISECOND, step, first, after)

    def closed(self, watermark: int) -> int:
        """How many of them have ended by this watermark."""
        return min(max(0, (watermark - self.size) // self.step - self.first + 1), self.after - self.first)

    def end(self, count: int) -> int:
        """The watermark that closes so many of them."""
        return (self.first + count - 1) * self.step + self.size


@dataclass(frozen=True)
class _Group:
    offsets: Offsets
    closes: int

    @property
    def width(self) -> int:
        return sum(end - start for start, end in self.offsets.values())

    def joined(self, batch: LiveBatch) -> _Group:
        both = {p: (self.offsets.get(p, span)[0], span[1]) for p, span in batch.offsets.items()}
        return _Group({**self.offsets, **both}, batch.watermark)


def cut_stream(
    batches: Sequence[LiveBatch], watermark: int, window: EventWindow, windows: RangeWindows, size: int, cap: int
) -> tuple[Slice, ...]:
    """Slices of about `size` offsets that close at most `cap` windows each, from a state with this watermark.

    What is late is told by the watermark that the slice before has closed windows by. So a batch in which live dropped
    something begins a slice; those after it in which it dropped nothing may be joined to it: no event of theirs was of
    a window that was closed, and windows end up with the same events whether they are closed batch by batch or at once.
    """
    slices: list[Slice] = []
    for group in _groups(batches, watermark, window, windows, size, cap):
        for offsets, closes in _capped(group, watermark, windows, cap):
            slices.append(Slice(f"s{len(slices):05}", offsets, closes=closes))
        watermark = group.closes
    return tuple(slices)


def _groups(
    batches: Sequence[LiveBatch], watermark: int, window: EventWindow, windows: RangeWindows, size: int, cap: int
) -> Iterator[_Group]:
    group: _Group | None = None
    for batch in batches:
        # Before batch 0 there is none whose watermark says what is late: Spark takes its own, so it stands alone.
        if group is not None and batch.none_late(window) and batch.number > 1:
            joined = group.joined(batch)
            if joined.width <= size and windows.closed(batch.watermark) - windows.closed(watermark) <= cap:
                group = joined
                continue
        if group is not None:
            yield group
            watermark = group.closes
        group = _Group(dict(batch.offsets), batch.watermark)
    if group is not None:
        yield group


def _capped(group: _Group, watermark: int, windows: RangeWindows, cap: int) -> Iterator[tuple[Offsets, int]]:
    """The group, and after it as many batches without records as it takes to close its windows few by few."""
    passed, total = windows.closed(watermark), windows.closed(group.closes)
    marks = [windows.end(count) for count in range(passed + cap, total, cap)]
    for closes in (*marks, group.closes):
        yield group.offsets, closes
        group = replace(group, offsets={partition: (end, end) for partition, (_, end) in group.offsets.items()})


def _millis(moment: datetime) -> int:
    return (moment - EPOCH) // _MILLISECOND
