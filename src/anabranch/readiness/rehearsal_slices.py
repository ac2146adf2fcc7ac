"""Which slices a rehearsal replays: bursts of two sizes, of the middle or the beginning of the plan's ranges. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from anabranch.plan.plan import Plan
from anabranch.plan.slices import Slice, cut, offsets_in

LARGE = 4
"""How many small slices make a large one, which is as large as the plan's slices."""
WARM_UP = (1,)
BURSTS = ((1, 1, 1), (LARGE, LARGE, LARGE))
"""How many small slices each slice of a burst has. A burst is replayed as a replay would, one slice after the other and
read ahead: three are the fewest in which the read-ahead of two slices shows."""
PARTS = (WARM_UP, *BURSTS, (LARGE,))
UNITS = sum(map(sum, PARTS))


@dataclass(frozen=True)
class RehearsalSlices:
    warm_up: tuple[Slice, ...]
    """Replayed first and not timed: it also loads classes and caches. Empty if the range is one slice."""
    bursts: tuple[tuple[Slice, ...], ...]
    """Each of slices of one size."""
    taken_apart: Slice
    """Whose stages are timed: not read before, so that the broker reads it from disk."""


def rehearsal_slices(plan: Plan, most: int | None = None) -> RehearsalSlices:
    """Slices to rehearse with, in order; none overlaps another. A range too small for it gives fewer.

    Windows are cut by time, so that the plan's own slices have to do. A table that is merged by key is replayed from
    the beginning: rows in the middle depend on earlier events. `most` is how many offsets may be replayed, where
    the contract's byte rate makes that a matter of time.
    """
    if any(each.windows is not None for each in plan.slices):
        middle = max(0, len(plan.slices) // 2 - 1)
        found = plan.slices[middle : middle + 1 + max(map(len, BURSTS))]
        return (
            RehearsalSlices(found[:1], (found[1:],), found[-1])
            if len(found) > 1
            else RehearsalSlices((), (found,), found[-1])
        )
    total = offsets_in(plan.source.ranges)
    size = max(each.width for each in plan.slices)
    wanted = min(size // LARGE, total // UNITS, total if most is None else most // UNITS)
    small = cut(plan.source.ranges, max(1, wanted))
    at = 0 if plan.strategy.whole_table else max(0, (len(small) - UNITS) // 2)
    parts: list[tuple[Slice, ...]] = []
    number = 0
    for part in PARTS:
        made: list[Slice] = []
        for count in part:
            if small[at : at + count]:
                made.append(replace(_joined(small[at : at + count]), id=f"r{number:05}"))
                number += 1
            at += count
        if made:
            parts.append(tuple(made))
    if len(parts) == 1:
        return RehearsalSlices((), (parts[0],), parts[0][-1])
    bursts, last = (parts[1:-1], parts[-1]) if len(parts) == len(PARTS) else (parts[1:], parts[-1])
    return RehearsalSlices(parts[0], tuple(bursts), last[-1])


def _joined(slices: Sequence[Slice]) -> Slice:
    """The first ones that are adjacent in every partition, as one slice."""
    whole = slices[0]
    for slice_ in slices[1:]:
        if any(p in whole.offsets and whole.offsets[p][1] != start for p, (start, _) in slice_.offsets.items()):
            break
        offsets = {p: (whole.offsets.get(p, each)[0], each[1]) for p, each in slice_.offsets.items()}
        whole = replace(whole, offsets={**whole.offsets, **offsets})
    return whole
