"""Appends to the audit chain and reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection, Select, insert, select, update

from anabranch.adapters.sql.schema import audit, audit_head
from anabranch.runs.audit import Anchor, AuditRecord, record_hash
from anabranch.runs.canonical import canonical_mapping, instant_text
from anabranch.runs.run import require_printable
from anabranch.runs.states import State


def append(
    connection: Connection,
    now: datetime,
    *,
    actor: str,
    action: str,
    run_id: str | None = None,
    from_state: State | None = None,
    to_state: State | None = None,
    epoch: int | None = None,
    details: Mapping[str, object] | None = None,
) -> AuditRecord:
    """Append one record in the caller's transaction.

    The head row is locked until the transaction ends, so records are appended one at a time and the chain cannot
    fork. It is the last lock that any transaction takes, which excludes a deadlock.
    """
    require_printable("actor", actor)
    require_printable("action", action)
    head = connection.execute(select(audit_head.c.seq, audit_head.c.hash).with_for_update()).one()
    unhashed = AuditRecord(
        seq=head.seq + 1,
        at=instant_text(now),
        actor=actor,
        run_id=run_id,
        action=action,
        from_state=from_state.value if from_state else None,
        to_state=to_state.value if to_state else None,
        epoch=epoch,
        details=canonical_mapping(details),
        previous=head.hash,
        hash="",
    )
    record = replace(unhashed, hash=record_hash(unhashed))
    connection.execute(insert(audit).values(**record.__dict__))
    connection.execute(update(audit_head).values(seq=record.seq, hash=record.hash))
    return record


def read_head(connection: Connection) -> Anchor | None:
    row = connection.execute(select(audit_head.c.seq, audit_head.c.hash)).one_or_none()
    return None if row is None else Anchor(row.seq, row.hash)


def read_records(connection: Connection, query: Select[tuple[object, ...]] | None = None) -> Iterator[AuditRecord]:
    """Records in the order of the chain, fetched 1,000 at a time, so that a long chain fits in memory."""
    ordered = (select(audit) if query is None else query).order_by(audit.c.seq)
    with connection.execution_options(yield_per=1000).execute(ordered) as rows:
        for row in rows:
            yield AuditRecord(**row._mapping)
