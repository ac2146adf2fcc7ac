"""Slices of a stream-faithful replay: live's batches, joined where the result is the same, up to a cap. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from anabranch.contract.event_window import EventWindow
from anabranch.plan.slices import Offsets, Slice
from anabranch.plan.strategies.live_batches import WindowedBatch
from anabranch.plan.target_range import EPOCH, PartitionRange

WINDOWS_PER_BATCH = 1000
"""Default maximum of windows that one batch closes: a fast replay could otherwise emit months of them at once."""
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True)
class RangeWindows:
    """The windows that begin in the range, in the order of their ends."""

    size: int
    step: int
    first: int
    """By number: the window that begins at `first * step` ms."""
    after: int

    @classmethod
    def of(cls, window: EventWindow, partitions: PartitionRange) -> RangeWindows:
        if window.size is None:
            raise AssertionError("sessions have no stream-faithful replay")
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

    def joined(self, batch: WindowedBatch) -> _Group:
        both = {p: (self.offsets.get(p, span)[0], span[1]) for p, span in batch.offsets.items()}
        return _Group({**self.offsets, **both}, batch.watermark)


def cut_stream(
    batches: Sequence[WindowedBatch], watermark: int, window: EventWindow, windows: RangeWindows, size: int, cap: int
) -> tuple[Slice, ...]:
    """Slices of about `size` offsets that close at most `cap` windows each, from a state with this watermark.

    Events are late relative to the previous slice's watermark. So a batch in which live dropped events begins a slice.
    Later batches without dropped events may join it: none of their events belonged to a closed window, so the windows
    have the same events whether they are closed batch by batch or at once.
    """
    slices: list[Slice] = []
    for group in _groups(batches, watermark, window, windows, size, cap):
        for offsets, closes in _capped(group, watermark, windows, cap):
            slices.append(Slice(f"s{len(slices):05}", offsets, closes=closes))
        watermark = group.closes
    return tuple(slices)


def _groups(
    batches: Sequence[WindowedBatch], watermark: int, window: EventWindow, windows: RangeWindows, size: int, cap: int
) -> Iterator[_Group]:
    group: _Group | None = None
    for batch in batches:
        # No batch precedes batch 0, so its lateness is by Spark's initial watermark: it is never joined.
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
    """The group, followed by batches without records so that each closes at most `cap` windows."""
    passed, total = windows.closed(watermark), windows.closed(group.closes)
    marks = [windows.end(count) for count in range(passed + cap, total, cap)]
    for closes in (*marks, group.closes):
        yield group.offsets, closes
        group = replace(group, offsets={partition: (end, end) for partition, (_, end) in group.offsets.items()})


def _millis(moment: datetime) -> int:
    return (moment - EPOCH) // _MILLISECOND
