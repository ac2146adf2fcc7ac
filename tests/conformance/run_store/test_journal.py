"""The journal: an intent before the act, one outcome after it, and nothing doubled by saying it twice."""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations

import pytest
from tests.conformance.run_store.scene import MIDNIGHT, MINUTE, HandClock, hours, leased, submitted

from anabranch.adapters.sql.store import SqlRunStore
from anabranch.runs.journal import IntentConflictError, IntentUnknownError, JournalEntry, Outcome, intent_id
from anabranch.runs.lease import Lease


@pytest.fixture
def lease(store: SqlRunStore) -> Lease:
    submitted(store)
    return leased(store)


def test_an_intent_is_open_until_its_outcome_is_known(store: SqlRunStore, clock: HandClock, lease: Lease) -> None:
    entry = store.writer.record_intent("r1", lease.epoch, "promote-1", {"base": 17})
    assert entry == JournalEntry("r1/e1/promote-1", "r1", 1, "promote-1", {"base": 17}, MIDNIGHT)
    assert store.reader.open_intents("r1") == [entry]
    clock.advance(timedelta(seconds=3))
    settled = store.writer.record_outcome(entry.id, lease.epoch, Outcome.SUCCEEDED, {"snapshot": 18})
    assert (settled.outcome, settled.outcome_details) == (Outcome.SUCCEEDED, {"snapshot": 18})
    assert settled.settled_at == MIDNIGHT + timedelta(seconds=3)
    assert store.reader.open_intents("r1") == []
    assert store.reader.journal("r1") == [settled]


def test_the_same_intent_twice_is_one_row(store: SqlRunStore, clock: HandClock, lease: Lease) -> None:
    first = store.writer.record_intent("r1", lease.epoch, "promote-1", {"base": 17})
    clock.advance(MINUTE / 2)
    assert store.writer.record_intent("r1", lease.epoch, "promote-1", {"base": 17}) == first
    assert store.reader.journal("r1") == [first]


def test_an_intent_said_again_after_its_end_tells_the_end(store: SqlRunStore, lease: Lease) -> None:
    entry = store.writer.record_intent("r1", lease.epoch, "slice-1")
    store.writer.record_outcome(entry.id, lease.epoch, Outcome.FAILED)
    assert store.writer.record_intent("r1", lease.epoch, "slice-1").outcome is Outcome.FAILED


def test_an_id_of_ones_own_outlives_the_epoch(store: SqlRunStore, lease: Lease) -> None:
    first = store.writer.record_intent("r1", lease.epoch, "slice-1", intent="r1/slice-1")
    taken = leased(store)
    assert store.writer.record_intent("r1", taken.epoch, "slice-1", intent="r1/slice-1") == first
    assert first.epoch == 1


def test_another_act_under_the_same_id_is_refused(store: SqlRunStore, lease: Lease) -> None:
    store.writer.record_intent("r1", lease.epoch, "slice-1", {"end": 10}, intent="x")
    for step, details in (("slice-1", {"end": 11}), ("slice-2", {"end": 10})):
        with pytest.raises(IntentConflictError, match="'x'"):
            store.writer.record_intent("r1", lease.epoch, step, details, intent="x")
    assert len(store.reader.journal("r1")) == 1


def test_another_run_under_the_same_id_is_refused(store: SqlRunStore, lease: Lease) -> None:
    store.writer.record_intent("r1", lease.epoch, "slice-1", intent="x")
    submitted(store, "r2", hours(10, 12))
    other = leased(store, "r2")
    with pytest.raises(IntentConflictError):
        store.writer.record_intent("r2", other.epoch, "slice-1", intent="x")


def test_the_next_epoch_finds_what_the_last_left_open_and_settles_it(store: SqlRunStore, lease: Lease) -> None:
    done = store.writer.record_intent("r1", lease.epoch, "slice-1")
    store.writer.record_outcome(done.id, lease.epoch, Outcome.SUCCEEDED)
    left = store.writer.record_intent("r1", lease.epoch, "slice-2")
    lost = store.writer.record_intent("r1", lease.epoch, "slice-3")
    store.writer.record_outcome(lost.id, lease.epoch, Outcome.UNKNOWN, {"error": "timed out"})
    taken = leased(store, holder=str(lease.holder))
    assert [entry.id for entry in store.reader.open_intents("r1")] == [left.id, lost.id]
    assert store.writer.record_outcome(left.id, taken.epoch, Outcome.FAILED).outcome is Outcome.FAILED
    assert store.writer.record_outcome(lost.id, taken.epoch, Outcome.SUCCEEDED).outcome is Outcome.SUCCEEDED
    assert store.reader.open_intents("r1") == []


@pytest.mark.parametrize("outcome", list(Outcome))
def test_the_same_outcome_twice_changes_nothing(
    store: SqlRunStore, clock: HandClock, lease: Lease, outcome: Outcome
) -> None:
    entry = store.writer.record_intent("r1", lease.epoch, "slice-1")
    first = store.writer.record_outcome(entry.id, lease.epoch, outcome, {"n": 1})
    clock.advance(MINUTE / 2)
    assert store.writer.record_outcome(entry.id, lease.epoch, outcome, {"n": 2}) == first


@pytest.mark.parametrize(
    ("known", "other"),
    [(known, other) for known, other in permutations(Outcome, 2) if known is not Outcome.UNKNOWN],
)
def test_a_known_outcome_never_changes(store: SqlRunStore, lease: Lease, known: Outcome, other: Outcome) -> None:
    entry = store.writer.record_intent("r1", lease.epoch, "slice-1")
    settled = store.writer.record_outcome(entry.id, lease.epoch, known)
    with pytest.raises(IntentConflictError, match=known.value):
        store.writer.record_outcome(entry.id, lease.epoch, other)
    assert store.reader.journal("r1") == [settled]


def test_an_outcome_needs_an_intent(store: SqlRunStore, lease: Lease) -> None:
    with pytest.raises(IntentUnknownError, match="'nope'"):
        store.writer.record_outcome("nope", lease.epoch, Outcome.SUCCEEDED)


def test_entries_come_in_the_order_of_recording(store: SqlRunStore, lease: Lease) -> None:
    steps = ["z", "a", "m"]
    for step in steps:
        store.writer.record_intent("r1", lease.epoch, step)
    assert [entry.step for entry in store.reader.journal("r1")] == steps
    assert store.reader.journal("r1")[0].id == intent_id("r1", 1, "z")


def test_the_journal_leaves_the_audit_alone(store: SqlRunStore, lease: Lease) -> None:
    store.writer.record_intent("r1", lease.epoch, "slice-1")
    assert [record.action for record in store.reader.audit()] == ["run.submit", "lease.acquire"]
