"""A run's part in the replay budget, as its contract, its operators and its state say at each heartbeat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conformance.run_store.scene import leased, new_run, transition

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.replay.budget_claim import RunClaim, contract_rate, contract_schedule
from anabranch.replay.budget_member import Claim
from anabranch.replay.controls import ControlRequest
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import Event

RATE = 20_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlRunStore]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened


def lease_of(store: SqlRunStore, **spec: object) -> RunLease:
    store.writer.submit(replace(new_run(), contract={"kind": "Backfill", "spec": spec}), actor="ada")
    return RunLease(store.reader, store.writer, "r1", leased(store).epoch, "ada")


def ask(lease: RunLease, request: ControlRequest, **details: object) -> None:
    lease.writer.record_act(request.value, actor="bob", run_id=lease.run_id, details=details)


def test_the_contracts_rate_is_all_that_a_run_would_use_of_its_share(store: SqlRunStore) -> None:
    lease = lease_of(store, budget={"bytesPerSecond": "20MB"})
    assert contract_rate(lease) == RATE
    assert RunClaim(lease)() == Claim(RATE)


def test_a_contract_without_budget_and_schedule_claims_without_a_limit(store: SqlRunStore) -> None:
    lease = lease_of(store)
    assert (contract_rate(lease), contract_schedule(lease)) == (None, None)
    assert RunClaim(lease)() == Claim()


def test_the_schedule_is_read_as_it_was_submitted(store: SqlRunStore) -> None:
    lease = lease_of(store, schedule={"deadline": "2030-01-01T00:00:00Z"})
    schedule = contract_schedule(lease)
    assert schedule is not None
    assert schedule.deadline is not None
    assert schedule.deadline.year == 2030


def test_an_operators_rate_is_seen_by_the_next_heartbeat(store: SqlRunStore) -> None:
    lease = lease_of(store, budget={"bytesPerSecond": "20MB"})
    claim = RunClaim(lease)
    assert claim().cap == RATE
    ask(lease, ControlRequest.THROTTLE, bytes_per_second=1000)
    assert claim().cap == 1000
    ask(lease, ControlRequest.THROTTLE, bytes_per_second=None)
    assert claim().cap is None


@pytest.mark.parametrize(("source", "exempt"), [("budget", True), ("governor", False)])
def test_only_an_exemption_from_the_budget_leaves_it(store: SqlRunStore, source: str, exempt: bool) -> None:
    lease = lease_of(store)
    claim = RunClaim(lease)
    ask(lease, ControlRequest.EXEMPT, source=source, seconds=3600.0, reason="month end")
    assert claim().exempt is exempt


def test_a_paused_run_gives_its_slot_back_only_once_it_has_replayed(store: SqlRunStore) -> None:
    """A retried run is paused until its first slice begins: with no claim it would never get the slot for that."""
    lease = lease_of(store)
    held = store.reader.lease("r1")
    transition(store, held, Event.START)
    transition(store, held, Event.PAUSE)
    retried, claim = RunClaim(lease), RunClaim(lease)
    assert not retried().paused
    transition(store, held, Event.RESUME)
    assert not claim().paused
    transition(store, held, Event.PAUSE)
    assert claim().paused
    transition(store, held, Event.RESUME)
    assert not claim().paused
