"""Leases: one holder at a time, epochs that only grow, and clocks that decide nothing that matters."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import URL, text
from tests.conformance.run_store.scene import MIDNIGHT, MINUTE, HandClock, leased, submitted, transition

from anabranch.adapters.sql.engine import writing
from anabranch.adapters.sql.errors import StoreConstraintError
from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.runs.journal import Outcome
from anabranch.runs.lease import Lease, LeaseHeldError, SupersededError
from anabranch.runs.states import Event, State


@pytest.fixture(autouse=True)
def run(store: SqlRunStore) -> None:
    submitted(store)


def test_a_fresh_run_is_free_at_epoch_zero(store: SqlRunStore) -> None:
    assert store.reader.lease("r1") == Lease("r1", 0, None, None)


def test_a_free_lease_is_taken_under_the_next_epoch(store: SqlRunStore) -> None:
    lease = leased(store, holder="a")
    assert lease == Lease("r1", 1, "a", MIDNIGHT + MINUTE)
    assert store.reader.lease("r1") == lease
    assert store.reader.run("r1").epoch == 1


def test_a_held_lease_is_refused_naming_holder_and_expiry(store: SqlRunStore) -> None:
    lease = leased(store, holder="a")
    with pytest.raises(LeaseHeldError, match="leased to a ") as refused:
        leased(store, holder="b")
    assert refused.value.fields["holder"] == "a"
    assert refused.value.fields["expires_at"] == "2025-06-01T00:01:00+00:00"
    assert store.reader.lease("r1") == lease
    assert [record.action for record in store.reader.audit()] == ["run.submit", "lease.acquire"]


def test_an_expired_lease_goes_to_whoever_asks_first(store: SqlRunStore, clock: HandClock) -> None:
    leased(store, holder="a")
    clock.advance(MINUTE)
    assert leased(store, holder="b").epoch == 2
    with pytest.raises(LeaseHeldError, match="leased to b "):
        leased(store, holder="a")


def test_the_same_holder_replaces_itself(store: SqlRunStore) -> None:
    first, second = leased(store, holder="a"), leased(store, holder="a")
    assert second.epoch == first.epoch + 1
    with pytest.raises(SupersededError):
        transition(store, first, Event.START)


def test_a_lease_is_taken_over_without_waiting_when_told_so_and_that_is_on_record(store: SqlRunStore) -> None:
    zombie = leased(store, holder="a")
    lease = store.writer.acquire("r1", "b", MINUTE, actor="bob", take_over=True)
    assert (lease.epoch, lease.holder) == (2, "b")
    (record,) = store.reader.audit(after=2)
    assert (record.action, record.actor, record.epoch) == ("lease.take_over", "bob", 2)
    assert '"former_holder":"a"' in record.details
    with pytest.raises(SupersededError, match="its holder is b"):
        transition(store, zombie, Event.START)


def superseded_calls() -> list[tuple[str, Callable[[SqlRunStore, Lease], object]]]:
    return [
        ("renew", lambda store, lease: store.writer.renew("r1", lease.epoch, MINUTE)),
        ("release", lambda store, lease: store.writer.release("r1", lease.epoch, actor="ada")),
        ("transition", lambda store, lease: transition(store, lease, Event.START)),
        ("intent", lambda store, lease: store.writer.record_intent("r1", lease.epoch, "slice-1")),
        ("outcome", lambda store, lease: store.writer.record_outcome("first", lease.epoch, Outcome.SUCCEEDED)),
    ]


@pytest.mark.parametrize("call", [pytest.param(call, id=name) for name, call in superseded_calls()])
@pytest.mark.parametrize("how", ["taken over", "released"])
def test_a_spent_epoch_may_do_nothing_whatsoever(
    store: SqlRunStore, clock: HandClock, how: str, call: Callable[[SqlRunStore, Lease], object]
) -> None:
    spent = leased(store, holder="a")
    store.writer.record_intent("r1", spent.epoch, "first", intent="first")
    if how == "released":
        store.writer.release("r1", spent.epoch, actor="ada")
    else:
        clock.advance(MINUTE)
        leased(store, holder="b")
        clock.advance(-MINUTE)

    def everything() -> object:
        reader = store.reader
        return reader.runs(), reader.lease("r1"), reader.journal("r1"), reader.audit()

    before = everything()
    with pytest.raises(SupersededError):
        call(store, spent)
    assert everything() == before


def test_an_expired_lease_that_nobody_took_still_lets_its_holder_write(store: SqlRunStore, clock: HandClock) -> None:
    lease = leased(store)
    clock.advance(timedelta(days=1))
    assert transition(store, lease, Event.START).state is State.REPLAYING
    assert store.writer.renew("r1", lease.epoch, MINUTE).expires_at == clock() + MINUTE


def test_renewing_puts_the_expiry_off_and_never_forward(store: SqlRunStore, clock: HandClock) -> None:
    lease = leased(store)
    clock.advance(MINUTE / 2)
    assert store.writer.renew("r1", lease.epoch, MINUTE).expires_at == MIDNIGHT + 1.5 * MINUTE
    assert store.writer.renew("r1", lease.epoch, MINUTE / 60).expires_at == MIDNIGHT + 1.5 * MINUTE
    assert len(store.reader.audit()) == 2


def test_an_epoch_stays_spent_after_release(store: SqlRunStore) -> None:
    released = store.writer.release("r1", leased(store).epoch, actor="ada")
    assert released == Lease("r1", 1, None, None)
    assert leased(store, holder="b").epoch == 2


def test_epochs_grow_while_the_clock_runs_backwards(store: SqlRunStore, clock: HandClock) -> None:
    epochs = []
    for _ in range(4):
        lease = leased(store)
        epochs.append(lease.epoch)
        store.writer.release("r1", lease.epoch, actor="ada")
        clock.advance(-timedelta(days=1))
    assert epochs == [1, 2, 3, 4]


def test_the_database_itself_refuses_a_smaller_epoch(store: SqlRunStore) -> None:
    leased(store)
    with pytest.raises(StoreConstraintError), writing(store.engine) as connection:
        connection.execute(text("UPDATE leases SET epoch = 0"))


@pytest.mark.parametrize("skew", [timedelta(minutes=10), -timedelta(minutes=10)])
def test_clocks_ten_minutes_apart_let_nobody_write_under_a_spent_epoch(
    store: SqlRunStore, database: URL, clock: HandClock, skew: timedelta
) -> None:
    ours = leased(store, holder="a")
    with open_store(database, HandClock(skew=skew)) as theirs:
        lease = theirs.writer.acquire("r1", "b", MINUTE, actor="bob", take_over=True)
        assert transition(theirs, lease, Event.START).state is State.REPLAYING
        with pytest.raises(SupersededError):
            transition(store, ours, Event.PAUSE)
        assert transition(theirs, lease, Event.PAUSE).state is State.PAUSED


def test_with_no_clock_given_the_database_tells_the_time_to_all(database: URL) -> None:
    with open_store(database) as ours, open_store(database) as theirs:
        ours.writer.acquire("r1", "a", timedelta(hours=1), actor="ada")
        with pytest.raises(LeaseHeldError):
            theirs.writer.acquire("r1", "b", MINUTE, actor="bob")
        records = ours.reader.audit()
        assert records[-1].at > records[0].at


def test_a_lease_needs_a_time_to_live(store: SqlRunStore) -> None:
    with pytest.raises(ValueError, match="positive duration"):
        store.writer.acquire("r1", "a", timedelta(0), actor="ada")
