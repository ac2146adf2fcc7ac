"""The run store: runs and their ranges, leases, the journal, the audit chain, the pace of replays, their budget,
their broker quotas.

It does not import the tables of the code: a migration must not change after it was released.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

INACTIVE = "('cancelled', 'closed', 'closing')"


def upgrade() -> None:
    _runs()
    _leases_and_journal()
    _audit()
    _pace()
    _budget()
    _retention_races()
    _quotas()
    if op.get_bind().dialect.name == "postgresql":
        _guards_on_postgresql()
    else:
        _guards_on_sqlite()


def _runs() -> None:
    op.create_table(
        "targets",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("pipeline", sa.Text, nullable=False),
        sa.Column("target_id", sa.Integer, sa.ForeignKey("targets.id"), nullable=False),
        sa.Column("starts", sa.BigInteger, nullable=False),
        sa.Column("ends", sa.BigInteger, nullable=False),
        sa.Column("contract_hash", sa.Text, nullable=False),
        sa.Column("plan_hash", sa.Text, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("fault_code", sa.Text),
        sa.Column("fault_text", sa.Text),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("updated_at", sa.Text, nullable=False),
        # Within these bounds the ranges of two targets never meet in the exclusion constraint's number space.
        sa.CheckConstraint(
            "-1000000000000000000 <= starts AND starts < ends AND ends <= 1000000000000000000", name="range_in_bounds"
        ),
    )
    op.create_index(
        "one_active_run_per_contract",
        "runs",
        ["target_id", "contract_hash"],
        unique=True,
        sqlite_where=sa.text(f"state NOT IN {INACTIVE}"),
        postgresql_where=sa.text(f"state NOT IN {INACTIVE}"),
    )
    op.create_table(
        "documents",
        sa.Column("run_id", sa.Text, sa.ForeignKey("runs.id"), primary_key=True),
        sa.Column("contract", sa.Text, nullable=False),
        sa.Column("plan", sa.Text, nullable=False),
    )


def _leases_and_journal() -> None:
    op.create_table(
        "leases",
        sa.Column("run_id", sa.Text, sa.ForeignKey("runs.id"), primary_key=True),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("holder", sa.Text),
        sa.Column("expires_at", sa.Text),
    )
    op.create_table(
        "journal",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("run_id", sa.Text, sa.ForeignKey("runs.id"), nullable=False, index=True),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("step", sa.Text, nullable=False),
        sa.Column("details", sa.Text, nullable=False),
        sa.Column("intended_at", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text),
        sa.Column("outcome_details", sa.Text),
        sa.Column("settled_at", sa.Text),
    )


def _audit() -> None:
    op.create_table(
        "audit",
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("from_state", sa.Text),
        sa.Column("to_state", sa.Text),
        sa.Column("epoch", sa.BigInteger),
        sa.Column("details", sa.Text, nullable=False),
        sa.Column("previous", sa.Text, nullable=False, unique=True),
        sa.Column("hash", sa.Text, nullable=False, unique=True),
    )
    op.create_index("ix_audit_run_id", "audit", ["run_id", "seq"])
    op.create_index("ix_audit_action", "audit", ["action", "run_id", "seq"])
    head = op.create_table(
        "audit_head",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.CheckConstraint("id = 1", name="only_one_head"),
    )
    op.bulk_insert(head, [{"id": 1, "seq": 0, "hash": "0" * 64}])


def _pace() -> None:
    op.create_table(
        "pace",
        sa.Column("run_id", sa.Text, sa.ForeignKey("runs.id"), primary_key=True),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("details", sa.Text, nullable=False),
    )


def _budget() -> None:
    op.create_table(
        "replay_budget",
        sa.Column("run_id", sa.Text, sa.ForeignKey("runs.id"), primary_key=True),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("context", sa.Text, nullable=False),
        sa.Column("bytes_per_second", sa.BigInteger, nullable=False),
        sa.Column("runs", sa.BigInteger, nullable=False),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("deadline", sa.Text),
        sa.Column("cap", sa.BigInteger),
        sa.Column("wants", sa.Integer, nullable=False),
        sa.Column("exempt", sa.Integer, nullable=False),
        sa.Column("admitted", sa.Integer, nullable=False),
        sa.Column("granted", sa.BigInteger, nullable=False),
        sa.Column("held", sa.BigInteger, nullable=False),
        sa.Column("joined_at", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Text, nullable=False),
    )
    op.create_table(
        "replay_holds",
        sa.Column("context", sa.Text, primary_key=True),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
    )


def _retention_races() -> None:
    op.create_table(
        "retention_races",
        sa.Column("run_id", sa.Text, sa.ForeignKey("runs.id"), primary_key=True),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("details", sa.Text, nullable=False),
    )


def _quotas() -> None:
    op.create_table(
        "quotas",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("run_id", sa.Text, sa.ForeignKey("runs.id"), nullable=False, index=True),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("cluster", sa.Text, nullable=False),
        sa.Column("principal", sa.Text),
        sa.Column("client_id", sa.Text, nullable=False),
        sa.Column("value", sa.BigInteger),
        sa.Column("intended", sa.BigInteger),
        sa.Column("intended_at", sa.Text, nullable=False),
        sa.Column("set_at", sa.Text),
        sa.Column("verified_at", sa.Text),
        sa.Column("ended_at", sa.Text),
        sa.Column("how", sa.Text),
        sa.Column("note", sa.Text),
    )


def _guards_on_postgresql() -> None:
    """Ranges of one target exclude each other, without an extension: each range is shifted by its target's id, so that
    two ranges overlap exactly if they have the same target and overlap."""
    far = "target_id * 10000000000000000000::numeric"
    op.execute(
        f"""ALTER TABLE runs ADD CONSTRAINT one_active_run_per_range
            EXCLUDE USING gist (numrange({far} + starts, {far} + ends) WITH &&)
            WHERE (state NOT IN {INACTIVE})"""
    )
    op.execute(
        """CREATE FUNCTION refuse_smaller_epoch() RETURNS trigger LANGUAGE plpgsql AS $$
           BEGIN RAISE EXCEPTION 'epochs_only_grow' USING ERRCODE = 'check_violation'; END $$"""
    )
    op.execute(
        """CREATE TRIGGER epochs_only_grow BEFORE UPDATE ON leases FOR EACH ROW
           WHEN (NEW.epoch < OLD.epoch) EXECUTE FUNCTION refuse_smaller_epoch()"""
    )


def _guards_on_sqlite() -> None:
    """SQLite has one writer at a time, so a trigger that checks before the insert acts as a constraint."""
    for name, when in (("insert", "INSERT"), ("update", "UPDATE OF state, target_id, starts, ends")):
        op.execute(
            f"""CREATE TRIGGER one_active_run_per_range_{name} BEFORE {when} ON runs
                WHEN NEW.state NOT IN {INACTIVE}
                BEGIN
                  SELECT RAISE(ABORT, 'one_active_run_per_range') WHERE EXISTS (
                    SELECT 1 FROM runs WHERE id <> NEW.id AND target_id = NEW.target_id
                    AND state NOT IN {INACTIVE} AND starts < NEW.ends AND NEW.starts < ends);
                END"""  # noqa: S608 - the only text put in is the constant above
        )
    op.execute(
        """CREATE TRIGGER epochs_only_grow BEFORE UPDATE ON leases WHEN NEW.epoch < OLD.epoch
           BEGIN SELECT RAISE(ABORT, 'epochs_only_grow'); END"""
    )
