"""Changes runs. Each call is one transaction with the epoch check and the audit record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone

from sqlalchemy import Connection, Engine, delete, insert, text, update

from anabranch.adapters.sql import chain, journalling, leasing, quotas
from anabranch.adapters.sql.engine import writing
from anabranch.adapters.sql.errors import StoreConstraintError
from anabranch.adapters.sql.rows import get_run
from anabranch.adapters.sql.schema import pace, retention_races, runs
from anabranch.adapters.sql.submission import submit
from anabranch.runs.audit import AuditRecord
from anabranch.runs.canonical import canonical_mapping, instant_text
from anabranch.runs.journal import JournalEntry, Outcome
from anabranch.runs.lease import Lease
from anabranch.runs.quotas import QuotaEnd, QuotaRecord
from anabranch.runs.run import NewRun, Run, RunFault, Submission
from anabranch.runs.states import Event, next_state

Clock = Callable[[], datetime]


@dataclass(frozen=True)
class SqlRunWriter:
    """`RunWriter` over one engine.

    Without a clock, the time is PostgreSQL's, so that machines with different clocks agree on when a lease expires.
    A SQLite file is used on one machine, whose clock is used.
    """

    engine: Engine
    clock: Clock | None = None

    def submit(self, new: NewRun, *, actor: str) -> Submission:
        try:
            return self._submit(new, actor)
        except StoreConstraintError:
            # A concurrent submission was first. It is committed now, and the second attempt finds it.
            return self._submit(new, actor)

    def _submit(self, new: NewRun, actor: str) -> Submission:
        with writing(self.engine) as connection:
            return submit(connection, new, actor, self._now(connection))

    def acquire(self, run_id: str, holder: str, ttl: timedelta, *, actor: str, take_over: bool = False) -> Lease:
        with writing(self.engine) as connection:
            now = self._now(connection)
            return leasing.acquire(connection, run_id, holder, ttl, now, actor=actor, take_over=take_over)

    def renew(self, run_id: str, epoch: int, ttl: timedelta) -> Lease:
        with writing(self.engine) as connection:
            return leasing.renew(connection, run_id, epoch, ttl, self._now(connection))

    def release(self, run_id: str, epoch: int, *, actor: str) -> Lease:
        with writing(self.engine) as connection:
            return leasing.release(connection, run_id, epoch, self._now(connection), actor=actor)

    def transition(
        self,
        run_id: str,
        epoch: int,
        event: Event,
        *,
        actor: str,
        details: Mapping[str, object] | None = None,
        fault: RunFault | None = None,
    ) -> Run:
        if (event is Event.FAIL) != (fault is not None):
            raise ValueError("a fault is required for the event fail and forbidden for all others")
        with writing(self.engine) as connection:
            leasing.check_epoch(connection, run_id, epoch)
            before = get_run(connection, run_id)
            to_state = next_state(before.state, event)
            now = self._now(connection)
            connection.execute(
                update(runs)
                .where(runs.c.id == run_id)
                .values(
                    state=to_state.value,
                    updated_at=instant_text(now),
                    fault_code=fault.code if fault else None,
                    fault_text=fault.text if fault else None,
                )
            )
            chain.append(
                connection,
                now,
                actor=actor,
                action=f"run.{event.value}",
                run_id=run_id,
                from_state=before.state,
                to_state=to_state,
                epoch=epoch,
                details=dict(details or {}) | ({"fault": fault.code} if fault else {}),
            )
            return replace(before, state=to_state, updated_at=now, fault=fault)

    def record_intent(
        self,
        run_id: str,
        epoch: int,
        step: str,
        details: Mapping[str, object] | None = None,
        *,
        intent: str | None = None,
    ) -> JournalEntry:
        with writing(self.engine) as connection:
            now = self._now(connection)
            return journalling.record_intent(connection, run_id, epoch, step, details, intent, now)

    def record_outcome(
        self, intent: str, epoch: int, outcome: Outcome, details: Mapping[str, object] | None = None
    ) -> JournalEntry:
        with writing(self.engine) as connection:
            return journalling.record_outcome(connection, intent, epoch, outcome, details, self._now(connection))

    def note_pace(self, run_id: str, epoch: int, details: Mapping[str, object]) -> None:
        with writing(self.engine) as connection:
            leasing.check_epoch(connection, run_id, epoch)
            connection.execute(delete(pace).where(pace.c.run_id == run_id))
            row = {"at": instant_text(self._now(connection)), "details": canonical_mapping(details)}
            connection.execute(insert(pace).values(run_id=run_id, **row))

    def note_retention_race(self, run_id: str, epoch: int, details: Mapping[str, object]) -> None:
        with writing(self.engine) as connection:
            leasing.check_epoch(connection, run_id, epoch)
            connection.execute(delete(retention_races).where(retention_races.c.run_id == run_id))
            row = {"at": instant_text(self._now(connection)), "details": canonical_mapping(details)}
            connection.execute(insert(retention_races).values(run_id=run_id, **row))

    def intend_quota(
        self, run_id: str, epoch: int, *, cluster: str, user: str | None, client_id: str, value: int
    ) -> QuotaRecord:
        about = {"cluster": cluster, "user": user, "client_id": client_id}
        with writing(self.engine) as connection:
            return quotas.intend(connection, run_id, epoch, self._now(connection), **about, value=value)  # type: ignore[arg-type]

    def confirm_quota(self, number: int, epoch: int) -> QuotaRecord:
        with writing(self.engine) as connection:
            return quotas.confirm(connection, number, epoch, self._now(connection))

    def verify_quota(self, number: int) -> QuotaRecord:
        with writing(self.engine) as connection:
            return quotas.verify(connection, number, self._now(connection))

    def end_quota(self, number: int, how: QuotaEnd, note: str | None = None) -> QuotaRecord:
        with writing(self.engine) as connection:
            return quotas.end(connection, number, how, note, self._now(connection))

    def record_act(
        self, action: str, *, actor: str, run_id: str | None = None, details: Mapping[str, object] | None = None
    ) -> AuditRecord:
        if action.startswith(("run.", "lease.")):
            raise ValueError(f"{action}: actions on runs and leases are audited with the change itself")
        with writing(self.engine) as connection:
            if run_id is not None:
                get_run(connection, run_id)
            now = self._now(connection)
            return chain.append(connection, now, actor=actor, action=action, run_id=run_id, details=details)

    def _now(self, connection: Connection) -> datetime:
        return database_time(connection, self.clock)


def database_time(connection: Connection, clock: Clock | None = None) -> datetime:
    """The time by `clock`; without one PostgreSQL's, or for a SQLite file that of its machine."""
    if clock is not None:
        return clock()
    if connection.dialect.name == "postgresql":
        now: datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
        return now
    return datetime.now(timezone.utc)
