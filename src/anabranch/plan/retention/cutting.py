"""Cuts a plan's offsets into slices by their expiry: the soonest first, instead of a share of every partition. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.plan.retention.facts import RetentionFacts
from anabranch.plan.retention.race import expiry_of
from anabranch.plan.slices import Offsets, Ranges, Slice, offsets_in


def cut_by_expiry(ranges: Ranges, offsets_per_slice: int, facts: RetentionFacts) -> tuple[Slice, ...]:
    """Slices of at most about `offsets_per_slice` offsets, in the order in which retention would delete them.

    Each partition is cut into parts of a slice's share; parts go by the expiry of their first offset. Where all
    partitions expire alike, a slice has a part of each, as with a cut by shares.
    """
    size = max(1, -(-offsets_per_slice // max(1, len(ranges))))
    parts = [part for number, each in sorted(ranges.items()) for part in _parts(number, each, size)]
    # Stable: parts of a partition that expire alike keep the order of their offsets.
    parts.sort(key=lambda part: (expiry_of(Slice("", part), facts), next(iter(part.values()))[0]))
    return tuple(Slice(f"s{number:05}", offsets) for number, offsets in enumerate(_packed(parts, offsets_per_slice)))


def _parts(partition: int, intervals: tuple[tuple[int, int], ...], size: int) -> Iterator[Offsets]:
    for start, end in intervals:
        for low in range(start, end, size):
            yield {partition: (low, min(end, low + size))}


def _packed(parts: list[Offsets], most: int) -> Iterator[Offsets]:
    """Consecutive parts together, one range a partition; those of one partition are joined where they touch."""
    held: dict[int, tuple[int, int]] = {}
    for part in parts:
        [(partition, (start, end))] = part.items()
        before = held.get(partition)
        full = offsets_in({p: (each,) for p, each in held.items()}) + end - start > most
        if held and (full or (before is not None and before[1] != start)):
            yield dict(sorted(held.items()))
            held, before = {}, None
        held[partition] = (start if before is None else before[0], end)
    if held:
        yield dict(sorted(held.items()))
