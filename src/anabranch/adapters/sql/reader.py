"""Reads runs, leases, the journal and the audit chain from the database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Engine, select

from anabranch.adapters.sql import chain, quotas, rows
from anabranch.adapters.sql.engine import reading
from anabranch.adapters.sql.journalling import read_entries, read_open_entries
from anabranch.adapters.sql.schema import audit, documents, pace, retention_races, runs, targets
from anabranch.runs.audit import Anchor, AuditRecord, ChainVerdict, verify_chain
from anabranch.runs.canonical import instant
from anabranch.runs.journal import JournalEntry
from anabranch.runs.lease import Lease
from anabranch.runs.pace import Pace
from anabranch.runs.quotas import QuotaRecord
from anabranch.runs.ranges import TargetRange
from anabranch.runs.retention import RetentionNote
from anabranch.runs.run import Documents, Run
from anabranch.runs.states import State


@dataclass(frozen=True)
class SqlRunReader:
    """`RunReader` over one engine."""

    engine: Engine

    def run(self, run_id: str) -> Run:
        with reading(self.engine) as connection:
            return rows.get_run(connection, run_id)

    def runs(self, *, states: Collection[State] | None = None, table: str | None = None) -> Sequence[Run]:
        query = rows.select_runs().order_by(runs.c.id)
        if states is not None:
            query = query.where(runs.c.state.in_([state.value for state in states]))
        if table is not None:
            query = query.where(targets.c.name == table)
        with reading(self.engine) as connection:
            return [rows.run_from(row) for row in connection.execute(query)]

    def holders(self, target: TargetRange) -> Sequence[Run]:
        with reading(self.engine) as connection:
            return [rows.run_from(row) for row in connection.execute(rows.overlapping(target))]

    def documents(self, run_id: str) -> Documents:
        with reading(self.engine) as connection:
            rows.get_run(connection, run_id)
            row = connection.execute(select(documents).where(documents.c.run_id == run_id)).one()
        return Documents(rows.document(row.contract), rows.document(row.plan))

    def lease(self, run_id: str) -> Lease:
        with reading(self.engine) as connection:
            return rows.get_lease(connection, run_id)

    def journal(self, run_id: str) -> Sequence[JournalEntry]:
        with reading(self.engine) as connection:
            rows.get_run(connection, run_id)
            return read_entries(connection, run_id)

    def open_intents(self, run_id: str) -> Sequence[JournalEntry]:
        return [entry for entry in self.journal(run_id) if entry.is_open]

    def open_steps(self, step: str) -> Sequence[JournalEntry]:
        with reading(self.engine) as connection:
            return read_open_entries(connection, step)

    def audit(
        self, *, run_id: str | None = None, action: str | None = None, after: int = 0, limit: int | None = None
    ) -> Sequence[AuditRecord]:
        query = select(audit).where(audit.c.seq > after).limit(limit)
        if run_id is not None:
            query = query.where(audit.c.run_id == run_id)
        if action is not None:
            query = query.where(audit.c.action == action)
        with reading(self.engine) as connection:
            return list(chain.read_records(connection, query))

    def pace(self, run_id: str) -> Pace | None:
        with reading(self.engine) as connection:
            row = connection.execute(select(pace).where(pace.c.run_id == run_id)).one_or_none()
        return None if row is None else Pace(instant(row.at), rows.document(row.details))

    def retention_race(self, run_id: str) -> RetentionNote | None:
        with reading(self.engine) as connection:
            query = select(retention_races).where(retention_races.c.run_id == run_id)
            row = connection.execute(query).one_or_none()
        return None if row is None else RetentionNote(instant(row.at), rows.document(row.details))

    def quotas(self, *, run_id: str | None = None, only_open: bool = False) -> Sequence[QuotaRecord]:
        with reading(self.engine) as connection:
            return quotas.read(connection, run_id, only_open=only_open)

    def verify_audit(self, witness: Anchor | None = None) -> ChainVerdict:
        with reading(self.engine) as connection:
            return verify_chain(chain.read_records(connection), chain.read_head(connection), witness)
