"""What a backfill of a project will cost and has cost: measured here, priced by its book, kept as evidence. No JVM."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from anabranch.adapters.iceberg.partition_stats import stored_size
from anabranch.adapters.iceberg.refs import snapshot_of
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.sql.store import SqlRunStore, StoreAbsentError
from anabranch.app.project_context import ProjectContext
from anabranch.close.closure import slice_ledgers
from anabranch.contract.backfill import Backfill
from anabranch.contract.price_book import load_price_book
from anabranch.errors import NOTHING_CHANGED, AnabranchError
from anabranch.gates.binding import of_rehearsal
from anabranch.gates.checks import cost as gate
from anabranch.gates.evidence import ACTION, Evidence, keep_evidence, newest_evidence, read_evidence
from anabranch.plan.forecast.cost import Bill, Metered, Stored, bill, expected_usage, used
from anabranch.plan.forecast.rehearsed import KIND, Rehearsed, read_rehearsed
from anabranch.plan.plan import Plan
from anabranch.plan.planner import Planned
from anabranch.project.sections.spark import SparkSettings
from anabranch.readiness.incident import Money, Price, Usage
from anabranch.replay.slice_ledger import total
from anabranch.replay.staging import newest
from anabranch.runs.journal import JournalEntry, Outcome
from anabranch.runs.store import RunReader

LIFETIME = timedelta(days=7)
NOTHING = Stored(0, 0)
READS = ("slice", "control")
"""Steps that read from Kafka: a control reads everything once more."""


class SizeUnknownError(AnabranchError):
    code = "cost.size-unknown"


@dataclass(frozen=True)
class Estimate:
    bill: Bill
    rests_on: str
    """What its quantities come from."""

    def document(self) -> dict[str, Any]:
        return {**self.bill.document(), "rests_on": self.rests_on}


def rehearsed_of(reader: RunReader, planned: Planned, now: datetime) -> Rehearsed | None:
    """The last rehearsal of this contract, code and byte rate, if it still counts."""
    bound = of_rehearsal(planned.plan, planned.request.backfill)
    found = [each for each in map(read_evidence, reader.audit(action=f"{ACTION}{KIND}")) if bound.holds(each)]
    return read_rehearsed(found[-1].found) if found and found[-1].counts(now) else None


def last_rehearsal(project_context: ProjectContext, planned: Planned, now: datetime) -> Rehearsed | None:
    """As `rehearsed_of`, where there may be no database yet."""
    try:
        with project_context.store(create=False) as store:
            return rehearsed_of(store.reader, planned, now)
    except StoreAbsentError:
        return None


def estimate(project_context: ProjectContext, planned: Planned, rehearsed: Rehearsed | None) -> Estimate | None:
    """What the plan will cost; None: nobody knows how much is to be read."""
    plan, spec = planned.plan, planned.request.backfill.spec
    book = load_price_book(project_context.loaded)
    part = stored_size(_table(project_context, plan).load(), snapshot_of(plan.target.base), plan.target.partitions)
    rate = None if spec.budget is None else spec.budget.bytes_per_second
    cores = cores_of(project_context.loaded.settings.spark)
    usage = expected_usage(plan, planned.outlook, rehearsed, part, book.spec.assume, cores, rate)
    if usage is None:
        return None
    return Estimate(bill(book, usage), gate.REHEARSED if rehearsed else "assumptions of the price book")


def keep_estimate(
    project_context: ProjectContext, store: SqlRunStore, planned: Planned, *, by: str, now: datetime
) -> tuple[Estimate, Evidence]:
    """Put the estimate on record, for the cost gate and for the closure."""
    found = estimate(project_context, planned, rehearsed_of(store.reader, planned, now))
    if found is None:
        raise SizeUnknownError(
            f"The cluster does not say how large {planned.plan.source.topic} is, so nobody knows what is to be read.",
            state=NOTHING_CHANGED,
            hint="`anabranch rehearse -f CONTRACT` measures it",
            topic=planned.plan.source.topic,
        )
    said = {
        "amount": round(found.bill.amount, 6),
        "currency": found.bill.currency,
        "prices": found.bill.book,
        "rests_on": found.rests_on,
        "meters": {line.meter: round(line.amount, 6) for line in found.bill.lines},
    }
    subject = f"plan/{planned.plan.hash}"
    return found, keep_evidence(store.writer, gate.KIND, subject, said, by=by, good_until=now + LIFETIME)


def note_estimate(
    project_context: ProjectContext, store: SqlRunStore, planned: Planned, *, by: str, now: datetime
) -> None:
    """Keep an estimate of a plan that is about to be carried out, if one can be made, so that its record has one."""
    rehearsed = rehearsed_of(store.reader, planned, now)
    if planned.outlook.bytes is not None or rehearsed is not None:
        keep_estimate(project_context, store, planned, by=by, now=now)


def spent(project_context: ProjectContext, reader: RunReader, plan: Plan, run: str, *, files: bool = True) -> Bill:
    """What the run has cost so far. Without `files`, only what its journal tells: enough between two slices."""
    journal, book = reader.journal(run), load_price_book(project_context.loaded)
    staged, base = _files(project_context, plan, run) if files else (NOTHING, NOTHING)
    bytes_read, _ = total(slice_ledgers(journal, READS))
    done = [each for each in journal if each.outcome is Outcome.SUCCEEDED]
    cores = cores_of(project_context.loaded.settings.spark)
    usage = used(
        bytes_read,
        _seconds(journal),
        cores,
        commits=sum(each.step in (*READS, "promote", "rollback") for each in done),
        staged=staged,
        base=base,
        validations=sum(each.step == "validate" for each in done),
    )
    return bill(book, usage)


def cost_record(
    project_context: ProjectContext, reader: RunReader, plan: Plan, run: str, contract: Backfill
) -> dict[str, Any]:
    """Actual against estimate, as the closure record has it."""
    actual, before = spent(project_context, reader, plan, run), newest_evidence(reader, gate.KIND, f"plan/{plan.hash}")
    return {
        "actual": actual.document(),
        "estimate": None if before is None else dict(before.found),
        "budget": None if contract.spec.budget is None else contract.spec.budget.cost,
    }


def price_of(project_context: ProjectContext) -> Price:
    """What advice prices its ways by."""
    book, cores = load_price_book(project_context.loaded), cores_of(project_context.loaded.settings.spark)

    def price(usage: Usage) -> Money:
        found = bill(book, Metered(usage.broker_bytes, usage.storage_bytes, core_seconds=usage.seconds * cores))
        return Money(found.amount, found.currency)

    return price


def cores_of(settings: SparkSettings) -> int:
    """As many as the settings name; on a cluster that decides by itself, one executor's worth of one core."""
    local = re.fullmatch(r"local\[(\*|[0-9]+),[0-9]+\]", settings.master)
    if local is not None:
        return os.cpu_count() or 1 if local[1] == "*" else int(local[1])
    named = [settings.options.get(f"spark.executor.{name}", "1") for name in ("instances", "cores")]
    instances, cores = (int(each) if isinstance(each, str) and each.isdecimal() else 1 for each in named)
    return instances * cores


def _files(project_context: ProjectContext, plan: Plan, run: str) -> tuple[Stored, Stored]:
    """Of the range: what the run has staged, if that is still there, and what it is compared with."""
    target, part = _table(project_context, plan), plan.target.partitions
    table, staging = target.load(), newest(target.stagings(run))
    staged = NOTHING if staging is None else stored_size(table, snapshot_of(staging.head), part)
    return staged, stored_size(table, snapshot_of(plan.target.base), part)


def _seconds(journal: Iterable[JournalEntry]) -> float:
    """While slices were read and staging was judged, also those that failed: their cores were paid for too."""
    return sum(
        (each.settled_at - each.intended_at).total_seconds()
        for each in journal
        if each.step in (*READS, "validate") and each.settled_at is not None
    )


def _table(project_context: ProjectContext, plan: Plan) -> IcebergTarget:
    return IcebergTarget(project_context.catalog.open(), plan.target.table)
