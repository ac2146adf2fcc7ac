"""Set operations on the offsets of one partition, as sorted disjoint intervals [start, end)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

Interval = tuple[int, int]
Intervals = tuple[Interval, ...]


def union(intervals: Iterable[Interval]) -> Intervals:
    """Their union; adjacent intervals are merged, empty ones dropped."""
    joined: list[Interval] = []
    for start, end in sorted(intervals):
        if start >= end:
            continue
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return tuple(joined)


def without(these: Sequence[Interval], those: Sequence[Interval]) -> Intervals:
    """`these` minus `those`. Both must be sorted and disjoint."""
    return tuple(_without(these, those))


def common(these: Sequence[Interval], those: Sequence[Interval]) -> Intervals:
    """Their intersection."""
    return without(these, without(these, those))


def fewer(intervals: Sequence[Interval], most: int) -> Intervals:
    """At most `most` intervals that cover these: the smallest gaps are closed first."""
    gaps = sorted((after[0] - before[1], before[1]) for before, after in pairwise(intervals))
    closed = gaps[: max(0, len(intervals) - most)]
    return union((*intervals, *((start, start + wide) for wide, start in closed)))


def bridged(intervals: Sequence[Interval], most: int) -> Intervals:
    """The intervals with gaps closed, smallest first, up to `most` added offsets in total."""
    gaps = sorted((after[0] - before[1], before[1]) for before, after in pairwise(intervals))
    wide = accumulate(gap for gap, _ in gaps)
    closed = [(start, start + gap) for (gap, start), total in zip(gaps, wide, strict=True) if total <= most]
    return union((*intervals, *closed))


def width(intervals: Iterable[Interval]) -> int:
    return sum(end - start for start, end in intervals)


def _without(these: Sequence[Interval], those: Sequence[Interval]) -> Iterator[Interval]:
    at = 0
    for start, end in these:
        while at < len(those) and those[at][1] <= start:
            at += 1
        reached, next_one = start, at
        while next_one < len(those) and those[next_one][0] < end:
            if those[next_one][0] > reached:
                yield reached, those[next_one][0]
            reached = max(reached, those[next_one][1])
            next_one += 1
        if reached < end:
            yield reached, end
