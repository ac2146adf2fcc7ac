"""Acquires, renews and releases leases, and refuses changes under a superseded epoch."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import Connection, update

from anabranch.adapters.sql import chain
from anabranch.adapters.sql.rows import get_lease
from anabranch.adapters.sql.schema import leases
from anabranch.runs.canonical import instant_text
from anabranch.runs.lease import Lease, LeaseHeldError, SupersededError
from anabranch.runs.run import require_printable


def check_epoch(connection: Connection, run_id: str, epoch: int) -> Lease:
    """Raise SupersededError unless `epoch` is current. It stays current until the transaction ends (row lock)."""
    lease = get_lease(connection, run_id, lock=True)
    if lease.epoch != epoch or lease.holder is None:
        raise SupersededError(lease, epoch)
    return lease


def acquire(
    connection: Connection, run_id: str, holder: str, ttl: timedelta, now: datetime, *, actor: str, take_over: bool
) -> Lease:
    require_printable("holder", holder)
    _require_positive(ttl)
    former = get_lease(connection, run_id, lock=True)
    held_by_another = former.held_by_another(holder, now)
    if held_by_another and not take_over:
        raise LeaseHeldError(former)
    lease = _store(connection, Lease(run_id, former.epoch + 1, holder, now + ttl))
    chain.append(
        connection,
        now,
        actor=actor,
        action="lease.take_over" if held_by_another else "lease.acquire",
        run_id=run_id,
        epoch=lease.epoch,
        details={"holder": holder, "former_holder": former.holder, "expires_at": instant_text(now + ttl)},
    )
    return lease


def renew(connection: Connection, run_id: str, epoch: int, ttl: timedelta, now: datetime) -> Lease:
    # Not audited: a renewal changes neither the holder nor any data.
    _require_positive(ttl)
    lease = check_epoch(connection, run_id, epoch)
    expires_at = now + ttl if lease.expires_at is None else max(lease.expires_at, now + ttl)
    return _store(connection, replace(lease, expires_at=expires_at))


def release(connection: Connection, run_id: str, epoch: int, now: datetime, *, actor: str) -> Lease:
    lease = check_epoch(connection, run_id, epoch)
    details = {"holder": lease.holder}
    chain.append(connection, now, actor=actor, action="lease.release", run_id=run_id, epoch=epoch, details=details)
    return _store(connection, replace(lease, holder=None, expires_at=None))


def _store(connection: Connection, lease: Lease) -> Lease:
    connection.execute(
        update(leases)
        .where(leases.c.run_id == lease.run_id)
        .values(
            epoch=lease.epoch,
            holder=lease.holder,
            expires_at=None if lease.expires_at is None else instant_text(lease.expires_at),
        )
    )
    return lease


def _require_positive(ttl: timedelta) -> None:
    if ttl <= timedelta(0):
        raise ValueError(f"a lease needs a positive duration, not {ttl}")
