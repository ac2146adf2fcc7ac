"""Row counts: the expected total, and the counts per bucket before and after."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from anabranch.plan.target_range import Grain, beginning
from anabranch.runs.canonical import instant_text
from anabranch.validate.measures import SAMPLE, Checksum
from anabranch.validate.result import CheckInput, CheckOutcome, Result, counted, passed_if

BIG = Fraction(1, 5)
"""A bucket whose row count changes by more than this share is reported."""


def check(evidence: CheckInput) -> Sequence[Result]:
    axis = evidence.plan.target.partitions.axis
    return (*_expected(evidence), *(() if axis is None else (_per_bucket(evidence, axis.grain),)))


def _expected(evidence: CheckInput) -> Sequence[Result]:
    expect = evidence.contract.spec.expect
    if expect is None:
        return ()
    staged = evidence.measures.staged.total.rows
    # Exact arithmetic: a tolerance of 0.1% of ten million rows must not depend on float rounding.
    allowed = expect.rows * Fraction(expect.tolerance).limit_denominator(10**8)
    off = abs(staged - expect.rows)
    within = f" ± {float(expect.tolerance) * 100:g}%" if expect.tolerance else ""
    return (
        Result(
            "rows expected",
            passed_if(off <= allowed),
            f"{counted(expect.rows, 'row')}{within}",
            f"{counted(staged, 'row')}{'' if not off else f', {off:,} off'}",
        ),
    )


def _per_bucket(evidence: CheckInput, grain: Grain) -> Result:
    base, staged, charges = evidence.measures.base, evidence.measures.staged, evidence.measures.charges
    # With a control, rows that production lost or duplicated do not count as changed by the fix.
    reference = base if charges is None else charges.control
    side = "before" if charges is None else "control"
    changes = []
    for number in sorted(reference.buckets.keys() | staged.buckets.keys()):
        before = reference.buckets.get(number, Checksum()).rows
        after = staged.buckets.get(number, Checksum()).rows
        if abs(after - before) > BIG * before:
            changes.append((number, before, after))
    largest = sorted(changes, key=lambda change: (-abs(change[2] - change[1]), change[0]))[:SAMPLE]
    found = f"{counted(staged.total.rows, 'row')} after, {base.total.rows:,} before"
    if changes:
        differ = counted(len(changes), f"{grain.value} differs", f"{grain.value}s differ")
        found += f"; {differ} by more than {float(BIG):.0%}" + ("" if charges is None else " from the control")
    return Result(
        f"rows per {grain.value}",
        CheckOutcome.WARNED if changes else CheckOutcome.PASSED,
        f"within {float(BIG):.0%} of {'the base' if charges is None else 'the control'} in every {grain.value}",
        found,
        tuple(
            {grain.value: instant_text(beginning(grain, number)), side: before, "after": after}
            for number, before, after in sorted(largest)
        ),
    )
