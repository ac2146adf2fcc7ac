"""The tables as the code uses them. Migrations create them; a test compares the two."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, MetaData, Table, Text, text

from anabranch.runs.states import INACTIVE

metadata = MetaData()

INACTIVE_STATES = ", ".join(f"'{state}'" for state in sorted(each.value for each in INACTIVE))

targets = Table(
    "targets",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
)

runs = Table(
    "runs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("pipeline", Text, nullable=False),
    Column("target_id", Integer, ForeignKey("targets.id"), nullable=False),
    # Microseconds since 1970: both databases compare numbers alike, without a time zone.
    Column("starts", BigInteger, nullable=False),
    Column("ends", BigInteger, nullable=False),
    Column("contract_hash", Text, nullable=False),
    Column("plan_hash", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("fault_code", Text),
    Column("fault_text", Text),
    Column("created_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
    # The constraint that active runs of one target never overlap is in the migration only: an exclusion constraint
    # on PostgreSQL, triggers on SQLite, which SQLAlchemy cannot express in one way.
    Index(
        "one_active_run_per_contract",
        "target_id",
        "contract_hash",
        unique=True,
        sqlite_where=text(f"state NOT IN ({INACTIVE_STATES})"),
        postgresql_where=text(f"state NOT IN ({INACTIVE_STATES})"),
    ),
)

documents = Table(
    "documents",
    metadata,
    Column("run_id", Text, ForeignKey("runs.id"), primary_key=True),
    Column("contract", Text, nullable=False),
    Column("plan", Text, nullable=False),
)

leases = Table(
    "leases",
    metadata,
    Column("run_id", Text, ForeignKey("runs.id"), primary_key=True),
    Column("epoch", BigInteger, nullable=False),
    Column("holder", Text),
    Column("expires_at", Text),
)

journal = Table(
    "journal",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("run_id", Text, ForeignKey("runs.id"), nullable=False, index=True),
    Column("epoch", BigInteger, nullable=False),
    Column("step", Text, nullable=False),
    Column("details", Text, nullable=False),
    Column("intended_at", Text, nullable=False),
    Column("outcome", Text),
    Column("outcome_details", Text),
    Column("settled_at", Text),
)

audit = Table(
    "audit",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("actor", Text, nullable=False),
    # No foreign key: audit records are kept after a run is deleted.
    Column("run_id", Text),
    Column("action", Text, nullable=False),
    Column("from_state", Text),
    Column("to_state", Text),
    Column("epoch", BigInteger),
    Column("details", Text, nullable=False),
    Column("previous", Text, nullable=False, unique=True),
    Column("hash", Text, nullable=False, unique=True),
    # A replay asks each second for its run's newest records, of which there are many after days.
    Index("ix_audit_run_id", "run_id", "seq"),
    Index("ix_audit_action", "action", "run_id", "seq"),
)

audit_head = Table(
    "audit_head",
    metadata,
    # Always 1: appending locks this single row, so the chain cannot fork.
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, nullable=False),
    Column("hash", Text, nullable=False),
)

pace = Table(
    "pace",
    metadata,
    # One row a run, replaced every few seconds: what limits its replay now. The audit chain has the changes.
    Column("run_id", Text, ForeignKey("runs.id"), primary_key=True),
    Column("at", Text, nullable=False),
    Column("details", Text, nullable=False),
)

replay_budget = Table(
    "replay_budget",
    metadata,
    # One row for each run that replays within the budget or waits for its turn; without a heartbeat it is deleted.
    Column("run_id", Text, ForeignKey("runs.id"), primary_key=True),
    Column("epoch", BigInteger, nullable=False),
    Column("context", Text, nullable=False),
    # The budget as the run's process has it configured: where processes differ, the lowest counts.
    Column("bytes_per_second", BigInteger, nullable=False),
    Column("runs", BigInteger, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("deadline", Text),
    Column("cap", BigInteger),
    Column("wants", Integer, nullable=False),
    Column("exempt", Integer, nullable=False),
    Column("admitted", Integer, nullable=False),
    Column("granted", BigInteger, nullable=False),
    Column("held", BigInteger, nullable=False),
    Column("joined_at", Text, nullable=False),
    Column("expires_at", Text, nullable=False),
)

replay_holds = Table(
    "replay_holds",
    metadata,
    # One row for each context whose replays are all held by `anabranch pause --all`.
    Column("context", Text, primary_key=True),
    Column("actor", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", Text, nullable=False),
)

retention_races = Table(
    "retention_races",
    metadata,
    # One row a run, replaced while it replays: when retention deletes what it still needs. Metrics are read from it.
    Column("run_id", Text, ForeignKey("runs.id"), primary_key=True),
    Column("at", Text, nullable=False),
    Column("details", Text, nullable=False),
)

quotas = Table(
    "quotas",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("run_id", Text, ForeignKey("runs.id"), nullable=False, index=True),
    Column("epoch", BigInteger, nullable=False),
    Column("cluster", Text, nullable=False),
    # The user of Kafka, null for a quota of the client id alone.
    Column("principal", Text),
    Column("client_id", Text, nullable=False),
    Column("value", BigInteger),
    Column("intended", BigInteger),
    Column("intended_at", Text, nullable=False),
    Column("set_at", Text),
    Column("verified_at", Text),
    Column("ended_at", Text),
    Column("how", Text),
    Column("note", Text),
)
