"""The pace of a run: one row, replaced by its current epoch only, and no part of the audit chain."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.conformance.run_store.scene import MIDNIGHT, HandClock, leased, submitted

from anabranch.adapters.sql.store import SqlRunStore
from anabranch.runs.lease import SupersededError

SLOW = {"source": "governor", "reason": "live lag 41 s", "bytes_per_second": 1_000, "paused": False}


def test_a_run_that_never_replayed_has_no_pace(store: SqlRunStore) -> None:
    submitted(store)
    assert store.reader.pace("r1") is None


def test_the_newest_note_counts_and_the_audit_chain_has_none(store: SqlRunStore, clock: HandClock) -> None:
    submitted(store)
    lease = leased(store)
    before = len(store.reader.audit())
    store.writer.note_pace("r1", lease.epoch, {**SLOW, "bytes_per_second": None})
    clock.advance(timedelta(seconds=5))
    store.writer.note_pace("r1", lease.epoch, SLOW)
    pace = store.reader.pace("r1")
    assert pace is not None
    assert (pace.at, pace.details) == (MIDNIGHT + timedelta(seconds=5), SLOW)
    assert len(store.reader.audit()) == before


def test_a_superseded_epoch_notes_nothing(store: SqlRunStore) -> None:
    submitted(store)
    former, lease = leased(store, holder="a"), leased(store, holder="a")
    store.writer.note_pace("r1", lease.epoch, SLOW)
    with pytest.raises(SupersededError):
        store.writer.note_pace("r1", former.epoch, {**SLOW, "reason": "of a superseded process"})
    pace = store.reader.pace("r1")
    assert pace is not None
    assert pace.details["reason"] == "live lag 41 s"
