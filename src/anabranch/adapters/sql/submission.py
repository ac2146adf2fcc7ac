"""Submits a run: at most one active run per contract and per range of a target."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, insert, select, text

from anabranch.adapters.sql import chain
from anabranch.adapters.sql.rows import IS_ACTIVE, find_run, get_run, overlapping, run_from, select_runs
from anabranch.adapters.sql.schema import documents, leases, runs, targets
from anabranch.runs.canonical import canonical_mapping, instant_text
from anabranch.runs.run import NewRun, RangeHeldError, Run, RunIdTakenError, Submission
from anabranch.runs.states import State


def submit(connection: Connection, new: NewRun, actor: str, now: datetime) -> Submission:
    """Create the run in the caller's transaction, or return the existing one.

    The queries before the insert give a precise error; under concurrency the table's constraints decide.
    """
    same_id = find_run(connection, new.id)
    if same_id is not None:
        if same_id.contract_hash != new.contract_hash:
            raise RunIdTakenError(new.id)
        return Submission(same_id, created=False)
    target_id = _lock_target(connection, new.target.table)
    same_contract = _active_run_of_contract(connection, target_id, new.contract_hash)
    if same_contract is not None:
        return Submission(same_contract, created=False)
    holder = connection.execute(overlapping(new.target)).first()
    if holder is not None:
        raise RangeHeldError(new.target, run_from(holder))
    _insert(connection, new, target_id, now)
    chain.append(
        connection,
        now,
        actor=actor,
        action="run.submit",
        run_id=new.id,
        to_state=State.PLANNED,
        epoch=0,
        details={"contract_hash": new.contract_hash, "plan_hash": new.plan_hash, "target": str(new.target)},
    )
    return Submission(get_run(connection, new.id), created=True)


def _lock_target(connection: Connection, table: str) -> int:
    """Serialize submissions per target: two inserts that exclude each other would deadlock."""
    connection.execute(text("INSERT INTO targets (name) VALUES (:name) ON CONFLICT (name) DO NOTHING"), {"name": table})
    query = select(targets.c.id).where(targets.c.name == table).with_for_update()
    return int(connection.execute(query).scalar_one())


def _active_run_of_contract(connection: Connection, target_id: int, contract_hash: str) -> Run | None:
    query = select_runs().where(runs.c.target_id == target_id, runs.c.contract_hash == contract_hash, IS_ACTIVE)
    row = connection.execute(query).one_or_none()
    return None if row is None else run_from(row)


def _insert(connection: Connection, new: NewRun, target_id: int, now: datetime) -> None:
    connection.execute(
        insert(runs).values(
            id=new.id,
            pipeline=new.pipeline,
            target_id=target_id,
            starts=new.target.starts,
            ends=new.target.ends,
            contract_hash=new.contract_hash,
            plan_hash=new.plan_hash,
            author=new.author,
            state=State.PLANNED.value,
            created_at=instant_text(now),
            updated_at=instant_text(now),
        )
    )
    contract, plan = canonical_mapping(new.contract), canonical_mapping(new.plan)
    connection.execute(insert(documents).values(run_id=new.id, contract=contract, plan=plan))
    connection.execute(insert(leases).values(run_id=new.id, epoch=0))
