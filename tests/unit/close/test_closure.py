"""Closing a run, over a real run store: the record, and finishing after a crash at any point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from tests.conformance.run_store.scene import MIDNIGHT, HandClock, leased, walked_to

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.close.capacity import CapacityLook, capacity_document, left_behind
from anabranch.close.closure import Closure, slice_ledgers
from anabranch.close.horizon import RollbackGuaranteedError
from anabranch.close.isolation import Certificate, Fate
from anabranch.errors import AnabranchError
from anabranch.gates.approval.approval import GIVEN, AcceptedStaging, given
from anabranch.plan.offsets.completeness import Proof
from anabranch.plan.plan import Plan, PlannedSource, PlannedTarget
from anabranch.plan.target_range import Grain, PartitionRange, TimeAxis, WholeTable
from anabranch.replay.ledger import Account
from anabranch.replay.slice_ledger import SliceLedger
from anabranch.runs.heads import Head
from anabranch.runs.journal import JournalEntry, Outcome
from anabranch.runs.lease import SupersededError
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import Event, State

RUN = "r1"
WEEK = timedelta(days=7)
PART = PartitionRange(TimeAxis("at", Grain.DAY), 20_000, 20_002)
PLAN = Plan(
    pipeline="orders",
    contract="c1",
    code="fixed",
    source=PlannedSource("shop.orders", "u1", 2, {1: ((0, 5), (8, 9)), 0: ((0, 50),)}, {}, {0: Proof.WHOLE}),
    target=PlannedTarget("shop.orders", Head("7"), "schema", PART, None, None),
    slices=(),
)
LEDGERS = (SliceLedger(100, {0: Account(10, output=10, rows=12)}), SliceLedger(50, {1: Account(5, filtered=5)}))


class Killed(BaseException):
    """As if the process had gone: nothing of ours handles it."""


@dataclass
class Outside:
    """What closing touches: the table's refs and the record's file. `dies_at` names where the process ends."""

    refs: set[str] = field(default_factory=lambda: {RUN, "r2"})
    kept: list[Mapping[str, object]] = field(default_factory=list)
    did: list[str] = field(default_factory=list)
    dies_at: str | None = None

    def remove_refs(self, run: str) -> None:
        self._may_die("before removing")
        self.refs.discard(run)
        self.did.append("remove")
        self._may_die("after removing")

    def keep(self, record: Mapping[str, object]) -> None:
        self._may_die("before keeping")
        self.kept.append(record)
        self.did.append("keep")
        self._may_die("after keeping")

    def look(self) -> Mapping[str, CapacityLook]:
        self._may_die("looking at capacity")
        return {"branches": CapacityLook("refs", tuple(sorted(self.refs & {RUN})))}

    def certify(self) -> Certificate:
        self._may_die("certifying")
        return Certificate({"shop-orders": Fate.UNCHANGED}, main_untouched=True)

    def _may_die(self, where: str) -> None:
        if self.dies_at == where:
            raise Killed


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def store(tmp_path: Path, clock: HandClock) -> Iterator[SqlRunStore]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}", clock) as opened:
        yield opened


@pytest.fixture
def outside() -> Outside:
    return Outside()


def ready(store: SqlRunStore, state: State) -> RunLease:
    """A run in that state, with slices, a validation and a promotion on record."""
    lease = RunLease(store.reader, store.writer, RUN, walked_to(store, state).epoch, "ada")
    for number, ledger in enumerate(LEDGERS):
        settled(lease, "slice", f"s{number}", Outcome.SUCCEEDED, {"snapshot": str(number), "ledger": ledger.document()})
    settled(lease, "slice", "s9", Outcome.FAILED, {"what": "lost"})
    settled(lease, "control", "c0", Outcome.SUCCEEDED, {"snapshot": "9", "ledger": LEDGERS[0].document()})
    settled(lease, "validate", "v1", Outcome.SUCCEEDED, {"verdict": "accepted", "staging": "41", "digest": "d"})
    if state is State.PROMOTED:
        settled(lease, "promote", "p1", Outcome.SUCCEEDED, {"snapshot": "77"})
    return lease


def settled(lease: RunLease, step: str, intent: str, outcome: Outcome, details: Mapping[str, object]) -> None:
    lease.record_outcome(lease.record_intent(step, {}, intent=intent), outcome, details)


def closure(lease: RunLease, outside: Outside, now: datetime = MIDNIGHT + 2 * WEEK, **changes: object) -> Closure:
    whole = Closure(
        lease=lease,
        plan=PLAN,
        target=outside,
        certify=outside.certify,
        cost=lambda: {"amount": 3},
        keep=outside.keep,
        horizon=WEEK,
        now=now,
        look_at_capacity=outside.look,
    )
    return replace(whole, **changes)  # type: ignore[arg-type]


def next_process(store: SqlRunStore) -> RunLease:
    return RunLease(store.reader, store.writer, RUN, leased(store).epoch, "ada")


def closings(lease: RunLease) -> list[JournalEntry]:
    return [each for each in lease.reader.journal(RUN) if each.step == "close"]


def test_the_record_says_what_was_achieved_and_staging_is_gone(store: SqlRunStore, outside: Outside) -> None:
    lease = ready(store, State.PROMOTED)
    record = closure(lease, outside)()
    without = {key: each for key, each in record.items() if key != "capacity"}
    assert outside.kept == [without, record]
    assert outside.did == ["keep", "remove", "keep"], "what staging has is on record before it goes"
    assert (outside.refs, lease.run.state) == ({"r2"}, State.CLOSED)
    assert [each.outcome for each in closings(lease)] == [Outcome.SUCCEEDED]
    assert (record["run"], record["verdict"], record["pipeline"]) == (RUN, "promoted", "orders")
    assert (record["target"], record["base"], record["code"]) == ("shop.orders", "7", "fixed")
    assert record["range"] == [PART.start.isoformat(), PART.end.isoformat()]
    assert (record["contract_hash"], record["plan_hash"]) == (lease.run.contract_hash, lease.run.plan_hash)
    assert record["topic"] == {"name": "shop.orders", "uuid": "u1"}
    assert record["offsets"] == {"0": [[0, 50]], "1": [[0, 5], [8, 9]]}
    assert record["complete_by"] == {"0": Proof.WHOLE.value}
    assert record["cost"] == {"amount": 3}
    isolation, audit = record["isolation"], record["audit"]
    assert isinstance(isolation, dict)
    assert isolation["verdict"] == "holds"
    assert isinstance(audit, dict)
    assert audit["intact"] is True


def test_the_record_s_ledger_is_of_the_slices_that_are_in_the_table(store: SqlRunStore, outside: Outside) -> None:
    """Not of those that failed, nor of the control's, which never were in production."""
    lease = ready(store, State.PROMOTED)
    record = closure(lease, outside)()
    assert record["ledger"] == {"slices": 2, "bytes": 150, "offsets": 15, "output": 10, "filtered": 5, "rows": 12}
    journal = lease.reader.journal(RUN)
    assert slice_ledgers(journal) == list(LEDGERS)
    assert len(slice_ledgers(journal, ("slice", "control"))) == 3


def test_the_record_has_the_steps_that_decided_in_order(store: SqlRunStore, outside: Outside) -> None:
    record = closure(ready(store, State.PROMOTED), outside)()
    steps = record["steps"]
    assert isinstance(steps, list)
    assert [(each["step"], each["id"], each["outcome"]) for each in steps] == [
        ("validate", "v1", "succeeded"),
        ("promote", "p1", "succeeded"),
    ]
    assert steps[1]["details"] == {"snapshot": "77"}


def test_capacity_is_looked_at_after_it_is_removed(store: SqlRunStore, outside: Outside) -> None:
    capacity = closure(ready(store, State.PROMOTED), outside)()["capacity"]
    assert capacity == {"verdict": "returned", "branches": {"looked_at": "refs", "left": [], "unknown": None}}


def test_what_is_left_or_unknown_is_not_called_returned(store: SqlRunStore, outside: Outside) -> None:
    def look() -> Mapping[str, CapacityLook]:
        return {"quotas": CapacityLook("the cluster", unknown="denied"), "topics": CapacityLook("it", ("probe",))}

    record = closure(ready(store, State.PROMOTED), outside, look_at_capacity=look)()
    assert record["capacity"]["verdict"] == "left"  # type: ignore[index]
    assert left_behind(record) == ["topics: probe", "quotas: unknown, denied"]
    assert capacity_document({"quotas": CapacityLook("the cluster", unknown="denied")})["verdict"] == "unknown"


def test_who_approved_is_in_the_record(store: SqlRunStore, outside: Outside) -> None:
    lease = ready(store, State.PROMOTED)
    run, until = lease.run, datetime(2025, 8, 1, tzinfo=timezone.utc)
    details = given(run.plan_hash, run.contract_hash, AcceptedStaging(Head("41"), "d"), "fine", until)
    store.writer.record_act(GIVEN, actor="bob", details=details)
    store.writer.record_act(GIVEN, actor="eve", details={**details, "contract": "another"})
    approvals = closure(lease, outside)()["approvals"]
    assert isinstance(approvals, list)
    assert [(each["by"], each["reason"]) for each in approvals] == [("bob", "fine")]


@pytest.mark.parametrize("state", [State.ROLLED_BACK, State.CANCELLED])
def test_what_production_does_not_have_is_closed_at_any_time(
    store: SqlRunStore, outside: Outside, state: State
) -> None:
    lease = ready(store, state)
    record = closure(lease, outside, MIDNIGHT)()
    assert (record["verdict"], record["rollback"], lease.run.state) == (state.value, None, State.CLOSED)


def test_of_a_whole_table_the_record_names_no_range(store: SqlRunStore, outside: Outside) -> None:
    plan = replace(PLAN, target=replace(PLAN.target, partitions=WholeTable(None)))
    assert closure(ready(store, State.CANCELLED), outside, plan=plan)()["range"] is None


def test_within_the_horizon_nothing_is_begun_nor_removed(store: SqlRunStore, outside: Outside) -> None:
    lease = ready(store, State.PROMOTED)
    with pytest.raises(RollbackGuaranteedError):
        closure(lease, outside, MIDNIGHT + WEEK - timedelta(seconds=1))()
    assert (lease.run.state, closings(lease), outside.refs, outside.kept) == (State.PROMOTED, [], {RUN, "r2"}, [])
    closure(lease, outside, MIDNIGHT + WEEK)()
    assert lease.run.state is State.CLOSED


def test_who_forfeits_the_rollback_and_why_is_in_the_record_and_in_the_chain(
    store: SqlRunStore, outside: Outside
) -> None:
    lease, now = ready(store, State.PROMOTED), MIDNIGHT + timedelta(days=1)
    rollback = closure(lease, outside, now, forfeit="readers agree")()["rollback"]
    assert isinstance(rollback, dict)
    assert rollback["forfeited"] == {"by": "ada", "at": now.isoformat(), "reason": "readers agree"}
    [closed] = [each for each in store.reader.audit(run_id=RUN) if each.action == "run.close"]
    assert "readers agree" in closed.details


def test_a_reason_given_after_the_horizon_forfeits_nothing(store: SqlRunStore, outside: Outside) -> None:
    rollback = closure(ready(store, State.PROMOTED), outside, forfeit="no matter")()["rollback"]
    assert isinstance(rollback, dict)
    assert rollback["forfeited"] is None


PLACES = ("certifying", "before keeping", "after keeping", "before removing", "after removing", "looking at capacity")


@pytest.mark.parametrize("place", PLACES)
def test_closing_again_after_a_crash_finishes(store: SqlRunStore, outside: Outside, place: str) -> None:
    outside.dies_at = place
    now = MIDNIGHT + timedelta(days=1)
    with pytest.raises(Killed):
        closure(ready(store, State.PROMOTED), outside, now, forfeit="readers agree")()
    assert store.reader.run(RUN).state is State.CLOSING
    outside.dies_at = None

    lease = next_process(store)
    record = closure(lease, outside, now)()
    assert (lease.run.state, outside.refs) == (State.CLOSED, {"r2"})
    assert outside.kept[-1] == record
    assert record["verdict"] == "promoted", "as it was when closing began"
    rollback = record["rollback"]
    assert isinstance(rollback, dict)
    assert rollback["forfeited"]["reason"] == "readers agree", "said once, when closing began"
    assert [each.outcome for each in closings(lease)] == [Outcome.SUCCEEDED], "one closing, whatever died"


def test_a_crash_between_the_intent_and_the_state_begins_again(store: SqlRunStore, outside: Outside) -> None:
    lease = ready(store, State.CANCELLED)
    lease.record_intent("close", {"verdict": "cancelled", "rollback": None}, intent=f"{RUN}-close-1")
    closure(lease, outside)()
    assert [each.outcome for each in closings(lease)] == [Outcome.FAILED, Outcome.SUCCEEDED]
    assert lease.run.state is State.CLOSED


def test_a_crash_between_the_outcome_and_the_state_is_finished(store: SqlRunStore, outside: Outside) -> None:
    lease = ready(store, State.CANCELLED)
    entry = lease.record_intent("close", {"verdict": "cancelled", "rollback": None}, intent=f"{RUN}-close-1")
    lease.transition(Event.CLOSE)
    lease.record_outcome(entry, Outcome.SUCCEEDED)
    again = next_process(store)
    closure(again, outside)()
    assert (again.run.state, len(closings(again))) == (State.CLOSED, 1)


def test_a_closed_run_cannot_be_closed_again(store: SqlRunStore, outside: Outside) -> None:
    lease = ready(store, State.CANCELLED)
    closure(lease, outside)()
    with pytest.raises(AnabranchError) as refused:
        closure(lease, outside)()
    assert refused.value.code == "run.illegal-transition"
    assert outside.did == ["keep", "remove", "keep"]


def test_whoever_was_superseded_removes_nothing(store: SqlRunStore, outside: Outside) -> None:
    lease = ready(store, State.CANCELLED)
    lease.record_intent("close", {"verdict": "cancelled", "rollback": None}, intent=f"{RUN}-close-1")
    lease.transition(Event.CLOSE)
    store.writer.acquire(RUN, "host-b:2", timedelta(minutes=1), actor="bob", take_over=True)
    with pytest.raises(SupersededError):
        closure(lease, outside)()
    assert (outside.refs, outside.kept) == ({RUN, "r2"}, [])
