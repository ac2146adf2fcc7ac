"""Prices a backfill of a project: its table, its journal and its price book; records the estimate. No JVM."""

from __future__ import annotations

import os
from datetime import datetime
from typing import Any

from anabranch.adapters.iceberg.partition_stats import stored_size
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.sql.store import SqlRunStore, StoreAbsentError
from anabranch.app.project_context import ProjectContext
from anabranch.close.closure import slice_ledgers
from anabranch.close.cost import cost_document
from anabranch.contract.backfill import Backfill
from anabranch.contract.price_book import load_price_book
from anabranch.gates.evidence import Evidence
from anabranch.plan.forecast.cost import Bill, Metered, Stored, bill
from anabranch.plan.forecast.pricing import READS, Estimate, cores_of, price_plan, price_run
from anabranch.plan.forecast.rehearsed import Rehearsed
from anabranch.plan.plan import Plan
from anabranch.plan.planner import Planned
from anabranch.readiness.estimates import record_estimate, record_estimate_if_known, rehearsed_of
from anabranch.readiness.incident import Money, Price, Usage
from anabranch.replay.slice_ledger import total
from anabranch.replay.staging import newest
from anabranch.runs.store import RunReader

NOTHING = Stored(0, 0)


def last_rehearsal(project_context: ProjectContext, planned: Planned, now: datetime) -> Rehearsed | None:
    """As `rehearsed_of`, where there may be no database yet."""
    try:
        with project_context.store(create=False) as store:
            return rehearsed_of(store.reader, planned, now)
    except StoreAbsentError:
        return None


def estimate(project_context: ProjectContext, planned: Planned, rehearsed: Rehearsed | None) -> Estimate | None:
    """What the plan will cost; None: the number of bytes to read is unknown."""
    plan, book = planned.plan, load_price_book(project_context.loaded)
    part = stored_size(_table(project_context, plan).load(), plan.target.base, plan.target.partitions)
    return price_plan(book, planned, rehearsed, part, _cores(project_context))


def keep_estimate(
    project_context: ProjectContext, store: SqlRunStore, planned: Planned, *, by: str, now: datetime
) -> tuple[Estimate, Evidence]:
    """Record the estimate, for the cost gate and for the closure. Raises SizeUnknownError."""
    found = estimate(project_context, planned, rehearsed_of(store.reader, planned, now))
    return record_estimate(store.writer, planned, found, by=by, now=now)


def note_estimate(
    project_context: ProjectContext, store: SqlRunStore, planned: Planned, *, by: str, now: datetime
) -> None:
    """Record an estimate of a plan that is about to be executed, if one can be made."""
    rehearsed = rehearsed_of(store.reader, planned, now)
    record_estimate_if_known(
        store.writer, planned, rehearsed, lambda: estimate(project_context, planned, rehearsed), by=by, now=now
    )


def spent(project_context: ProjectContext, reader: RunReader, plan: Plan, run: str, *, files: bool = True) -> Bill:
    """What the run has cost so far. Without `files`, only what its journal records: enough between two slices."""
    journal, book = reader.journal(run), load_price_book(project_context.loaded)
    staged, base = _files(project_context, plan, run) if files else (NOTHING, NOTHING)
    bytes_read, _ = total(slice_ledgers(journal, READS))
    return price_run(book, journal, bytes_read, _cores(project_context), staged, base)


def cost_record(
    project_context: ProjectContext, reader: RunReader, plan: Plan, run: str, contract: Backfill
) -> dict[str, Any]:
    """Actual against estimate, as the closure record has it."""
    return cost_document(reader, plan, contract, spent(project_context, reader, plan, run))


def price_of(project_context: ProjectContext) -> Price:
    """Prices the options of advice."""
    book, cores = load_price_book(project_context.loaded), _cores(project_context)

    def price(usage: Usage) -> Money:
        found = bill(book, Metered(usage.broker_bytes, usage.storage_bytes, core_seconds=usage.seconds * cores))
        return Money(found.amount, found.currency)

    return price


def _cores(project_context: ProjectContext) -> int:
    return cores_of(project_context.loaded.settings.spark, os.cpu_count() or 1)


def _files(project_context: ProjectContext, plan: Plan, run: str) -> tuple[Stored, Stored]:
    """Of the range: what the run has staged, if staging still exists, and what it is compared with."""
    target, part = _table(project_context, plan), plan.target.partitions
    table, staging = target.load(), newest(target.stagings(run))
    return stored_size(table, None if staging is None else staging.head, part), stored_size(
        table, plan.target.base, part
    )


def _table(project_context: ProjectContext, plan: Plan) -> IcebergTarget:
    return IcebergTarget(project_context.catalog.open(), plan.target.table)
