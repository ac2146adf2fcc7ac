"""The replay budget in the control database: joined, divided and left in one transaction each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, Row, delete, insert, select, text, update

from anabranch.adapters.sql import chain, leasing
from anabranch.adapters.sql.engine import reading, writing
from anabranch.adapters.sql.schema import audit, replay_budget
from anabranch.adapters.sql.writer import Clock, database_time
from anabranch.replay.budget_board import HEARTBEAT_EXPIRES, PRIORITY_SET, BudgetView, Heartbeat, NotQueuedError
from anabranch.replay.budget_shares import USUAL_PRIORITY, Member, ReplayBudget, divide
from anabranch.runs.canonical import instant, instant_text


@dataclass(frozen=True)
class SqlBudgetBoard:
    """A `BudgetBoard` over one engine. The time is the database's, as for leases."""

    engine: Engine
    clock: Clock | None = None

    def beat(self, heartbeat: Heartbeat) -> BudgetView:
        with writing(self.engine) as connection:
            _lock(connection)
            now = database_time(connection, self.clock)
            leasing.check_epoch(connection, heartbeat.run, heartbeat.epoch)
            connection.execute(delete(replay_budget).where(replay_budget.c.expires_at <= instant_text(now)))
            _put(connection, heartbeat, now)
            rows = _rows(connection, heartbeat.context)
            budget = _lowest(rows, heartbeat.budget)
            members = divide(budget, [_member(row) for row in rows], now)
            for row, member in zip(rows, members, strict=True):
                if _member(row) != member:
                    given = {"admitted": int(member.admitted), "granted": member.granted, "held": member.held}
                    own = replay_budget.c.run_id == member.run
                    connection.execute(update(replay_budget).where(own).values(**given))
            return BudgetView(now, budget, members)

    def leave(self, run_id: str, epoch: int) -> None:
        with writing(self.engine) as connection:
            _lock(connection)
            own = (replay_budget.c.run_id == run_id) & (replay_budget.c.epoch == epoch)
            connection.execute(delete(replay_budget).where(own))

    def view(self, context: str, configured: ReplayBudget) -> BudgetView:
        with reading(self.engine) as connection:
            now = database_time(connection, self.clock)
            rows = [row for row in _rows(connection, context) if row.expires_at > instant_text(now)]
            return BudgetView(now, _lowest(rows, configured), tuple(_member(row) for row in rows))

    def set_priority(self, run_id: str, priority: int, *, actor: str) -> None:
        with writing(self.engine) as connection:
            _lock(connection)
            now = database_time(connection, self.clock)
            own = (replay_budget.c.run_id == run_id) & (replay_budget.c.expires_at > instant_text(now))
            row = connection.execute(select(replay_budget).where(own)).one_or_none()
            if row is None:
                raise NotQueuedError(run_id)
            connection.execute(update(replay_budget).where(own).values(priority=priority))
            details = {"priority": priority, "former": row.priority}
            chain.append(connection, now, actor=actor, action=PRIORITY_SET, run_id=run_id, details=details)


def _lock(connection: Connection) -> None:
    """One division at a time. SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE replay_budget IN EXCLUSIVE MODE"))


def _put(connection: Connection, beat: Heartbeat, now: datetime) -> None:
    """The run's row as of this heartbeat. A process that took the run over goes on with its slot and share."""
    known = connection.execute(select(replay_budget).where(replay_budget.c.run_id == beat.run)).one_or_none()
    values = {
        "epoch": beat.epoch,
        "context": beat.context,
        "bytes_per_second": beat.budget.bytes_per_second,
        "runs": beat.budget.runs,
        "deadline": None if beat.deadline is None else instant_text(beat.deadline),
        "cap": beat.cap,
        "wants": int(beat.wants),
        "exempt": int(beat.exempt),
        "held": beat.held,
        "expires_at": instant_text(now + HEARTBEAT_EXPIRES),
    }
    if known is not None:
        connection.execute(update(replay_budget).where(replay_budget.c.run_id == beat.run).values(**values))
        return
    row = {"run_id": beat.run, "joined_at": instant_text(beat.joined or now), "admitted": 0, "granted": 0}
    connection.execute(insert(replay_budget).values(**row, **values, priority=_priority(connection, beat.run)))


def _priority(connection: Connection, run_id: str) -> int:
    """The priority that was last set for the run, in this queue or an earlier one."""
    query = select(audit.c.details).where(audit.c.run_id == run_id, audit.c.action == PRIORITY_SET)
    details = connection.execute(query.order_by(audit.c.seq.desc()).limit(1)).scalar_one_or_none()
    return USUAL_PRIORITY if details is None else int(json.loads(details)["priority"])


def _rows(connection: Connection, context: str) -> Sequence[Row[Any]]:
    query = select(replay_budget).where(replay_budget.c.context == context)
    return connection.execute(query.order_by(replay_budget.c.joined_at, replay_budget.c.run_id)).all()


def _lowest(rows: Sequence[Row[Any]], own: ReplayBudget) -> ReplayBudget:
    rates, runs = [row.bytes_per_second for row in rows], [row.runs for row in rows]
    return ReplayBudget(min([own.bytes_per_second, *rates]), min([own.runs, *runs]))


def _member(row: Row[Any]) -> Member:
    return Member(
        run=row.run_id,
        joined=instant(row.joined_at),
        priority=row.priority,
        deadline=None if row.deadline is None else instant(row.deadline),
        cap=row.cap,
        wants=bool(row.wants),
        exempt=bool(row.exempt),
        admitted=bool(row.admitted),
        granted=row.granted,
        held=row.held,
    )
