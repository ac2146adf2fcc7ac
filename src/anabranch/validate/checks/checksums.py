"""Checksums: the buckets whose rows changed, and the digest of all staged rows. Always passes."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.validate.measures import Side
from anabranch.validate.result import CheckInput, CheckOutcome, Result, counted


def changed_buckets(base: Side, staged: Side) -> tuple[int, ...]:
    """The numbers of the buckets with different multisets of rows, in order."""
    every = base.buckets.keys() | staged.buckets.keys()
    return tuple(sorted(number for number in every if base.buckets.get(number) != staged.buckets.get(number)))


def check(evidence: CheckInput) -> Sequence[Result]:
    measures = evidence.measures
    axis = evidence.plan.target.partitions.axis
    grain = "table" if axis is None else axis.grain.value
    changed = changed_buckets(measures.base, measures.staged)
    every = measures.base.buckets.keys() | measures.staged.buckets.keys()
    found = f"{len(changed):,} of {counted(len(every), grain)} changed; digest {measures.staged.total.text}"
    return (Result("checksums", CheckOutcome.PASSED, "for information", found),)
