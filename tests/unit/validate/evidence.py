"""Evidence of a replay in which nothing went wrong, for tests to spoil."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from anabranch.contract.backfill import Backfill, BackfillSpec
from anabranch.contract.pipeline import Pipeline, PipelineSpec, QuarantineSpec
from anabranch.plan.plan import Plan, PlannedSource, PlannedTarget
from anabranch.plan.slices import Slice
from anabranch.plan.target_range import Grain, PartitionRange, TimeAxis, ordinal
from anabranch.replay.ledger import Account, SliceAccount
from anabranch.runs.heads import Head
from anabranch.validate.measures import Checksum, Column, Differences, Measures, Nulls, OutOfRangeFiles, Side
from anabranch.validate.report import Report
from anabranch.validate.result import Check, CheckInput, Result
from anabranch.validate.verdict import reach_verdict

START = datetime(2025, 6, 1, tzinfo=timezone.utc)
FIRST = ordinal(Grain.HOUR, START)
RANGE = PartitionRange(TimeAxis("ordered_at", Grain.HOUR), FIRST, FIRST + 2)
COLUMNS = (Column(1, "order_id", "string", True), Column(2, "amount", "decimal(18, 2)", False))
SLICES = (Slice("s00000", {0: (0, 10)}), Slice("s00001", {0: (10, 20)}))
ACCOUNTS = tuple(SliceAccount(slice_, {0: Account(10, output=8, filtered=2, rows=8)}) for slice_ in SLICES)
BUCKETS = {FIRST: Checksum(8, 1, 1), FIRST + 1: Checksum(8, 2, 2)}
MEASURES = Measures(
    base=Side(Head("1"), COLUMNS, BUCKETS),
    staged=Side(Head("2"), COLUMNS, BUCKETS),
    head=COLUMNS,
    schema="as planned",
    differences=Differences(True),
    nulls=Nulls({}),
    strays=OutOfRangeFiles(),
)
PLAN = Plan(
    "orders",
    "contract",
    "code",
    PlannedSource("shop.orders", "uuid", 1, {0: ((0, 20),)}, {}),
    PlannedTarget("shop.orders", Head("1"), "as planned", RANGE, RANGE.start, RANGE.end),
    SLICES,
)


def contract(**spec: Any) -> Backfill:
    whole = {
        "pipeline": "orders",
        "range": {"everything": True},
        "reason": "a wrong rate",
        "owner": "shop",
        "rollback": {"authority": "shop"},
        **spec,
    }
    return Backfill.model_construct(spec=BackfillSpec.model_validate(whole))


def pipeline(cap: int = 5) -> Pipeline:
    quarantine = QuarantineSpec.model_validate({"maxRecords": cap})
    return Pipeline.model_construct(spec=PipelineSpec.model_construct(quarantine=quarantine))


def evidence(
    accounts: Sequence[SliceAccount] = ACCOUNTS, *, backfill: Backfill | None = None, cap: int = 5, **measured: Any
) -> CheckInput:
    return CheckInput(replace(MEASURES, **measured), PLAN, backfill or contract(), pipeline(cap), accounts)


def staged(**buckets: int) -> Side:
    """Staging with other counts of rows: `first`, `second`."""
    numbers = {"first": FIRST, "second": FIRST + 1}
    return Side(
        Head("2"), COLUMNS, {**BUCKETS, **{numbers[name]: Checksum(rows, 9, 9) for name, rows in buckets.items()}}
    )


def only(check: Check, given: CheckInput) -> Result:
    [result] = check(given)
    return result


def report(accounts: Sequence[SliceAccount] = ACCOUNTS, *, run: str = "r1", **measured: Any) -> Report:
    at = datetime(2025, 6, 2, 10, 20, 33, tzinfo=timezone.utc)
    return reach_verdict(replace(MEASURES, **measured), PLAN, contract(), pipeline(), accounts, run=run, at=at)
