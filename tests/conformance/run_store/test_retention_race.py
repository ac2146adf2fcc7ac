"""The race of a run against retention: one row, replaced by its current epoch only; and what is open in any run."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.conformance.run_store.scene import MIDNIGHT, HandClock, hours, leased, submitted

from anabranch.adapters.sql.store import SqlRunStore
from anabranch.runs.journal import Outcome
from anabranch.runs.lease import SupersededError

NOTE = {"answer": "enough-time", "headroom_seconds": 40.5, "partitions": [], "reading": True}


def test_the_newest_note_counts_and_the_audit_chain_has_none(store: SqlRunStore, clock: HandClock) -> None:
    submitted(store)
    assert store.reader.retention_race("r1") is None
    lease = leased(store)
    before = len(store.reader.audit())
    store.writer.note_retention_race("r1", lease.epoch, {**NOTE, "headroom_seconds": None})
    clock.advance(timedelta(seconds=5))
    store.writer.note_retention_race("r1", lease.epoch, NOTE)
    found = store.reader.retention_race("r1")
    assert found is not None
    assert (found.at, found.details) == (MIDNIGHT + timedelta(seconds=5), NOTE)
    assert len(store.reader.audit()) == before


def test_a_superseded_epoch_notes_nothing(store: SqlRunStore) -> None:
    submitted(store)
    former, lease = leased(store, holder="a"), leased(store, holder="a")
    store.writer.note_retention_race("r1", lease.epoch, NOTE)
    with pytest.raises(SupersededError):
        store.writer.note_retention_race("r1", former.epoch, {**NOTE, "answer": "lost"})
    found = store.reader.retention_race("r1")
    assert found is not None
    assert found.details["answer"] == "enough-time"


def test_open_steps_are_those_of_every_run_without_a_known_outcome(store: SqlRunStore) -> None:
    ids = []
    for number in range(3):
        run = f"r{number}"
        submitted(store, run, hours(number, number + 1))
        epoch = leased(store, run).epoch
        ids.append(store.writer.record_intent(run, epoch, "extend", {"n": number}, intent=f"{run}-extend").id)
        store.writer.record_intent(run, epoch, "slice", {}, intent=f"{run}-slice")
        if number < 2:
            outcome = (Outcome.SUCCEEDED, Outcome.UNKNOWN)[number]
            store.writer.record_outcome(ids[-1], epoch, outcome)
    assert [each.id for each in store.reader.open_steps("extend")] == ids[1:]
