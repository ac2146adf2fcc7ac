"""Records intents and their outcomes. Idempotent."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Connection, insert, or_, select, update

from anabranch.adapters.sql.leasing import check_epoch
from anabranch.adapters.sql.rows import document, entry_from, find_intent
from anabranch.adapters.sql.schema import journal
from anabranch.runs.canonical import canonical_mapping, instant_text
from anabranch.runs.journal import IntentConflictError, IntentUnknownError, JournalEntry, Outcome, intent_id
from anabranch.runs.run import require_printable


def record_intent(
    connection: Connection,
    run_id: str,
    epoch: int,
    step: str,
    details: Mapping[str, object] | None,
    intent: str | None,
    now: datetime,
) -> JournalEntry:
    require_printable("step", step)
    intent_key = intent_id(run_id, epoch, step) if intent is None else intent
    require_printable("intent", intent_key)
    check_epoch(connection, run_id, epoch)
    details_text = canonical_mapping(details)
    entry = find_intent(connection, intent_key)
    if entry is None:
        row = {"id": intent_key, "run_id": run_id, "epoch": epoch, "step": step}
        connection.execute(insert(journal).values(**row, details=details_text, intended_at=instant_text(now)))
        return _get(connection, intent_key)
    if (entry.run_id, entry.step, entry.details) != (run_id, step, document(details_text)):
        raise IntentConflictError(entry, f"intent of {step} in run {run_id} with other details")
    return entry


def record_outcome(
    connection: Connection,
    intent: str,
    epoch: int,
    outcome: Outcome,
    details: Mapping[str, object] | None,
    now: datetime,
) -> JournalEntry:
    run_id = _get(connection, intent).run_id
    check_epoch(connection, run_id, epoch)
    # Read again after the epoch check: another holder may have recorded the outcome before.
    entry = _get(connection, intent)
    if entry.outcome is outcome:
        return entry
    if not entry.is_open:
        raise IntentConflictError(entry, f"outcome {outcome.value}")
    connection.execute(
        update(journal)
        .where(journal.c.id == intent)
        .values(outcome=outcome.value, outcome_details=canonical_mapping(details), settled_at=instant_text(now))
    )
    return _get(connection, intent)


def read_entries(connection: Connection, run_id: str) -> list[JournalEntry]:
    query = select(journal).where(journal.c.run_id == run_id).order_by(journal.c.number)
    return [entry_from(row) for row in connection.execute(query)]


def read_open_entries(connection: Connection, step: str) -> list[JournalEntry]:
    """Of every run."""
    query = select(journal).where(journal.c.step == step).order_by(journal.c.number)
    is_open = or_(journal.c.outcome.is_(None), journal.c.outcome == Outcome.UNKNOWN.value)
    return [entry_from(row) for row in connection.execute(query.where(is_open))]


def _get(connection: Connection, intent: str) -> JournalEntry:
    entry = find_intent(connection, intent)
    if entry is None:
        raise IntentUnknownError(intent)
    return entry
