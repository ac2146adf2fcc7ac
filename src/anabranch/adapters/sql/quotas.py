"""Records of broker quotas: intent, value, observation and end."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from anabranch.adapters.sql.leasing import check_epoch
from anabranch.adapters.sql.schema import quotas
from anabranch.runs.canonical import instant, instant_text
from anabranch.runs.quotas import QuotaEnd, QuotaRecord


def intend(
    connection: Connection,
    run_id: str,
    epoch: int,
    now: datetime,
    *,
    cluster: str,
    user: str | None,
    client_id: str,
    value: int,
) -> QuotaRecord:
    check_epoch(connection, run_id, epoch)
    about = {"intended": value, "intended_at": instant_text(now)}
    same = (quotas.c.run_id == run_id, quotas.c.epoch == epoch, quotas.c.ended_at.is_(None))
    found = connection.execute(select(quotas).where(*same)).one_or_none()
    if found is None:
        row = {"run_id": run_id, "epoch": epoch, "cluster": cluster, "principal": user, "client_id": client_id}
        number = connection.execute(insert(quotas).values(**row, **about)).inserted_primary_key[0]  # type: ignore[index]
    else:
        number = found.number
        connection.execute(update(quotas).where(quotas.c.number == number).values(**about))
    return get(connection, number)


def confirm(connection: Connection, number: int, epoch: int, now: datetime) -> QuotaRecord:
    record = get(connection, number)
    check_epoch(connection, record.run_id, epoch)
    confirmed = {"value": record.intended, "intended": None, "set_at": instant_text(now)}
    if record.is_open and record.intended is not None:
        connection.execute(update(quotas).where(quotas.c.number == number).values(**confirmed))
    return get(connection, number)


def verify(connection: Connection, number: int, now: datetime) -> QuotaRecord:
    first = (quotas.c.number == number, quotas.c.verified_at.is_(None))
    connection.execute(update(quotas).where(*first).values(verified_at=instant_text(now)))
    return get(connection, number)


def end(connection: Connection, number: int, how: QuotaEnd, note: str | None, now: datetime) -> QuotaRecord:
    still_open = (quotas.c.number == number, quotas.c.ended_at.is_(None))
    ended = {"ended_at": instant_text(now), "how": how.value, "note": note}
    connection.execute(update(quotas).where(*still_open).values(**ended))
    return get(connection, number)


def get(connection: Connection, number: int) -> QuotaRecord:
    return _record(connection.execute(select(quotas).where(quotas.c.number == number)).one())


def read(connection: Connection, run_id: str | None, *, only_open: bool) -> Sequence[QuotaRecord]:
    query = select(quotas).order_by(quotas.c.number)
    if run_id is not None:
        query = query.where(quotas.c.run_id == run_id)
    if only_open:
        query = query.where(quotas.c.ended_at.is_(None))
    return [_record(row) for row in connection.execute(query)]


def _record(row: Row[Any]) -> QuotaRecord:
    def at(text: str | None) -> datetime | None:
        return None if text is None else instant(text)

    return QuotaRecord(
        number=row.number,
        run_id=row.run_id,
        epoch=row.epoch,
        cluster=row.cluster,
        user=row.principal,
        client_id=row.client_id,
        value=row.value,
        intended=row.intended,
        intended_at=instant(row.intended_at),
        set_at=at(row.set_at),
        verified_at=at(row.verified_at),
        ended_at=at(row.ended_at),
        end=None if row.how is None else QuotaEnd(row.how),
        note=row.note,
    )
