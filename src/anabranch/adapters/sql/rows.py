"""Converts rows to the types of `anabranch.runs`, and holds queries that several modules share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from sqlalchemy import Connection, Row, Select, select

from anabranch.adapters.sql.schema import journal, leases, runs, targets
from anabranch.runs.canonical import instant
from anabranch.runs.journal import JournalEntry, Outcome
from anabranch.runs.lease import Lease
from anabranch.runs.ranges import TargetRange
from anabranch.runs.run import Run, RunFault, RunUnknownError
from anabranch.runs.states import INACTIVE, State

IS_ACTIVE = runs.c.state.not_in([state.value for state in INACTIVE])


def select_runs() -> Select[Any]:
    return select(runs, targets.c.name.label("table_name"), leases.c.epoch).join(targets).join(leases)


def run_from(row: Row[Any]) -> Run:
    return Run(
        id=row.id,
        pipeline=row.pipeline,
        target=TargetRange.between(row.table_name, row.starts, row.ends),
        contract_hash=row.contract_hash,
        plan_hash=row.plan_hash,
        author=row.author,
        state=State(row.state),
        epoch=row.epoch,
        created_at=instant(row.created_at),
        updated_at=instant(row.updated_at),
        fault=None if row.fault_code is None else RunFault(row.fault_code, row.fault_text),
    )


def find_run(connection: Connection, run_id: str) -> Run | None:
    row = connection.execute(select_runs().where(runs.c.id == run_id)).one_or_none()
    return None if row is None else run_from(row)


def get_run(connection: Connection, run_id: str) -> Run:
    run = find_run(connection, run_id)
    if run is None:
        raise RunUnknownError(run_id)
    return run


def overlapping(target: TargetRange) -> Select[Any]:
    """The active runs whose range overlaps `target`."""
    return (
        select_runs()
        .where(targets.c.name == target.table, IS_ACTIVE, runs.c.starts < target.ends, target.starts < runs.c.ends)
        .order_by(runs.c.id)
    )


def get_lease(connection: Connection, run_id: str, *, lock: bool = False) -> Lease:
    """The lease of a run. With `lock`, no other transaction changes the run until this one ends."""
    query = select(leases).where(leases.c.run_id == run_id)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise RunUnknownError(run_id)
    expires_at = None if row.expires_at is None else instant(row.expires_at)
    return Lease(row.run_id, row.epoch, row.holder, expires_at)


def find_intent(connection: Connection, intent: str) -> JournalEntry | None:
    row = connection.execute(select(journal).where(journal.c.id == intent)).one_or_none()
    return None if row is None else entry_from(row)


def entry_from(row: Row[Any]) -> JournalEntry:
    return JournalEntry(
        id=row.id,
        run_id=row.run_id,
        epoch=row.epoch,
        step=row.step,
        details=document(row.details),
        intended_at=instant(row.intended_at),
        outcome=None if row.outcome is None else Outcome(row.outcome),
        outcome_details=None if row.outcome_details is None else document(row.outcome_details),
        settled_at=None if row.settled_at is None else instant(row.settled_at),
    )


def document(text: str) -> Mapping[str, object]:
    return cast(Mapping[str, object], json.loads(text))
