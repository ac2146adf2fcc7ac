"""How an audit chain is tampered with: by somebody who has a shell on the database and knows how hashes are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, replace

from sqlalchemy import Connection, delete, insert

from anabranch.adapters.sql.engine import writing
from anabranch.adapters.sql.schema import audit, audit_head
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.runs.audit import GENESIS, Anchor, AuditRecord, ChainVerdict, record_hash

COLUMNS = [column.name for column in audit.columns]


def put(connection: Connection, records: list[AuditRecord], head: Anchor | None) -> None:
    """Make the chain in the database exactly this, as somebody with a database shell would."""
    connection.execute(delete(audit))
    for record in records:
        connection.execute(insert(audit).values(dict(zip(COLUMNS, astuple(record), strict=True))))
    connection.execute(delete(audit_head))
    if head is not None:
        connection.execute(insert(audit_head).values(id=1, seq=head.seq, hash=head.hash))


def head_of(records: list[AuditRecord]) -> Anchor:
    return Anchor(records[-1].seq, records[-1].hash) if records else Anchor(0, GENESIS)


def verdict_of(
    store: SqlRunStore, tamper: Callable[[Connection], object], witness: Anchor | None = None
) -> ChainVerdict:
    with writing(store.engine) as connection:
        tamper(connection)
    return store.reader.verify_audit(witness)


def relinked(records: list[AuditRecord]) -> list[AuditRecord]:
    """The same records, numbered and hashed anew so that they fit together: what a patient forger makes."""
    chain: list[AuditRecord] = []
    for seq, record in enumerate(records, start=1):
        chain.append(rehashed(replace(record, seq=seq, previous=chain[-1].hash if chain else GENESIS)))
    return chain


def rehashed(record: AuditRecord) -> AuditRecord:
    return replace(record, hash=record_hash(record))
