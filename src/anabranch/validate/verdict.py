"""Runs all checks on the measurements and makes the report. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.plan import Plan
from anabranch.plan.target_range import beginning
from anabranch.replay.ledger import Account, SliceAccount, total
from anabranch.validate.attribution import Attribution
from anabranch.validate.checks import (
    checksums,
    conservation,
    control,
    counts,
    keys,
    late,
    nulls,
    outside_range,
    quarantine,
    queries,
    schema,
    spot,
)
from anabranch.validate.measures import Checksum, Measures
from anabranch.validate.report import Bucket, Report
from anabranch.validate.result import Check, CheckInput

CHECKS: tuple[Check, ...] = (
    conservation.check,
    outside_range.check,
    schema.check,
    counts.check,
    checksums.check,
    keys.check,
    nulls.check,
    spot.check,
    queries.check,
    quarantine.check,
    late.check,
    control.check,
)


def reach_verdict(
    measures: Measures,
    plan: Plan,
    contract: Backfill,
    pipeline: Pipeline,
    accounts: Sequence[SliceAccount],
    *,
    run: str,
    at: datetime,
) -> Report:
    """Run every check, so that one report shows all failures."""
    evidence = CheckInput(measures, plan, contract, pipeline, accounts)
    return Report(
        run=run,
        pipeline=plan.pipeline,
        table=plan.target.table,
        plan=plan.hash,
        range=plan.target.partitions,
        base=measures.base.snapshot,
        staging=measures.staged.snapshot,
        at=at,
        results=tuple(result for check in CHECKS for result in check(evidence)),
        buckets=_buckets(measures, plan),
        digest=measures.staged.total,
        ledger=total(account.total for account in accounts),
        partitions=_by_partition(accounts),
        differences=measures.differences,
        rows_before=measures.base.total.rows,
        charges=measures.charges,
        control=plan.control,
    )


def _buckets(measures: Measures, plan: Plan) -> tuple[Bucket, ...]:
    base, staged = measures.base.buckets, measures.staged.buckets
    axis = plan.target.partitions.axis
    if axis is None:
        return ()
    charges = measures.charges
    every = base.keys() | staged.keys() | (charges.buckets.keys() if charges is not None else set())
    return tuple(
        Bucket(
            beginning(axis.grain, number),
            base.get(number, Checksum()),
            staged.get(number, Checksum()),
            None if charges is None else charges.buckets.get(number, Attribution()),
        )
        for number in sorted(every)
    )


def _by_partition(accounts: Sequence[SliceAccount]) -> dict[int, Account]:
    found: dict[int, Account] = {}
    for account in accounts:
        for partition, entry in account.partitions.items():
            found[partition] = found.get(partition, Account()) + entry
    return found
