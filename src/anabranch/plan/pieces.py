"""Which slices a rehearsal replays: of two sizes, of the middle of the plan's ranges, or of their beginning. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from anabranch.plan.plan import Plan
from anabranch.plan.slices import Slice, cut, offsets_in

LARGE = 4
"""How many small slices make a large one, which is as large as the plan's own."""
PATTERN = (1, LARGE, 1, LARGE)
"""How many small slices each of the rehearsed ones has. The first only warms up."""
_ALL = (*PATTERN, LARGE)


@dataclass(frozen=True)
class Pieces:
    replayed: tuple[Slice, ...]
    taken_apart: Slice
    """Whose stages are timed: one that nobody has read before, so that the broker has to fetch it."""


def pieces_of(plan: Plan) -> Pieces:
    """Slices to rehearse with, in order; none overlaps another. A range too small for it gives fewer.

    Windows are cut by time, so that the plan's own slices have to do. A table that is merged by key is replayed from
    the beginning: what comes in the middle hangs on what came before.
    """
    if any(each.windows is not None for each in plan.slices):
        middle = max(0, len(plan.slices) // 2 - 1)
        return _pieces(plan.slices[middle : middle + len(_ALL)])
    total = offsets_in(plan.source.ranges)
    size = max(each.width for each in plan.slices)
    small = cut(plan.source.ranges, max(1, min(size // LARGE, total // sum(_ALL))))
    at = 0 if plan.strategy.whole_table else max(0, (len(small) - sum(_ALL)) // 2)
    found: list[Slice] = []
    for count in _ALL:
        if small[at : at + count]:
            found.append(replace(_joined(small[at : at + count]), id=f"r{len(found):05}"))
        at += count
    return _pieces(found)


def _pieces(found: Sequence[Slice]) -> Pieces:
    return Pieces(tuple(found[: len(PATTERN)]), found[-1])


def _joined(pieces: Sequence[Slice]) -> Slice:
    """As many of them from the first on as lie next to each other in every partition."""
    whole = pieces[0]
    for piece in pieces[1:]:
        if any(p in whole.offsets and whole.offsets[p][1] != start for p, (start, _) in piece.offsets.items()):
            break
        offsets = {p: (whole.offsets.get(p, each)[0], each[1]) for p, each in piece.offsets.items()}
        whole = replace(whole, offsets={**whole.offsets, **offsets})
    return whole
