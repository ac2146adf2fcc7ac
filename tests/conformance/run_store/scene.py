"""What the suite's tests are told with: runs to submit, a clock set by hand, a run walked to a state."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

from anabranch.adapters.sql.store import SqlRunStore
from anabranch.runs.lease import Lease
from anabranch.runs.ranges import TargetRange
from anabranch.runs.run import NewRun, Run, RunFault
from anabranch.runs.states import TRANSITIONS, Event, State

MIDNIGHT = datetime(2025, 6, 1, tzinfo=timezone.utc)
MINUTE = timedelta(minutes=1)
FAULT = RunFault("replay.lost", "the offsets 5 to 9 are gone")


@dataclass
class HandClock:
    """Stands still until it is moved. `skew` is how far this operator's clock is off."""

    now: datetime = field(default=MIDNIGHT)
    skew: timedelta = timedelta(0)

    def __call__(self) -> datetime:
        return self.now + self.skew

    def advance(self, by: timedelta) -> None:
        self.now += by


def hours(start: int | None, end: int | None, table: str = "lake.shop.orders") -> TargetRange:
    """[start, end) in hours of one day."""
    first, last = (None if hour is None else MIDNIGHT + timedelta(hours=hour) for hour in (start, end))
    return TargetRange(table, first, last)


def new_run(run_id: str = "r1", target: TargetRange | None = None, contract: str | None = None) -> NewRun:
    return NewRun(
        id=run_id,
        pipeline="orders",
        target=target or hours(0, 6),
        contract_hash=contract or f"contract-of-{run_id}",
        plan_hash=f"plan-of-{run_id}",
        author="ada",
        contract={"kind": "Contract", "reason": "currency bug"},
        plan={"slices": [[0, 10], [10, 20]]},
    )


def submitted(store: SqlRunStore, run_id: str = "r1", target: TargetRange | None = None) -> Run:
    return store.writer.submit(new_run(run_id, target), actor="ada").run


def leased(store: SqlRunStore, run_id: str = "r1", holder: str = "host-a:1") -> Lease:
    return store.writer.acquire(run_id, holder, MINUTE, actor="ada")


def transition(store: SqlRunStore, lease: Lease, event: Event) -> Run:
    fault = FAULT if event is Event.FAIL else None
    return store.writer.transition(lease.run_id, lease.epoch, event, actor="ada", fault=fault)


def walked_to(store: SqlRunStore, state: State, run_id: str = "r1") -> Lease:
    """A run submitted, leased and taken along the shortest way to `state`."""
    submitted(store, run_id)
    lease = leased(store, run_id)
    for event in shortest_way(state):
        transition(store, lease, event)
    return lease


def shortest_way(state: State) -> list[Event]:
    ways: dict[State, list[Event]] = {State.PLANNED: []}
    while state not in ways:
        for (start, event), end in TRANSITIONS.items():
            if start in ways and end not in ways:
                ways[end] = [*ways[start], event]
    return ways[state]
