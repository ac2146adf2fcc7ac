"""Validation takes a run whose replay has ended, and no other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.conformance.run_store.scene import HandClock, walked_to
from tests.unit.replay.test_replayer import PLAN

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.plan.target_range import TargetPart
from anabranch.replay.replayer import ReplayEnd
from anabranch.replay.staged import NotStagedError, StagedRun, staged_run
from anabranch.replay.staging import StagedSlice, StagingPlace
from anabranch.runs.heads import Head
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import State

STAGED = [State.STAGED, State.REJECTED, State.VALIDATED, State.ROLLED_BACK]
OTHERS = [state for state in State if state not in STAGED]


@dataclass
class Places:
    """A `StagingTarget` that notes what was made in it."""

    places: list[StagingPlace] = field(default_factory=list)

    def stagings(self, run: str, *, control: bool = False) -> Sequence[StagingPlace]:
        return [] if control else self.places

    def make_staging(
        self, run: str, epoch: int, root: Head, replaced: TargetPart | None, *, control: bool = False
    ) -> None:
        self.places.append(StagingPlace(f"{run}-{epoch}", epoch, Head("9")))

    def hand_over(self, former: StagingPlace, run: str, epoch: int, *, control: bool = False) -> None:
        self.places = [StagingPlace(f"{run}-{epoch}", epoch, former.head)]

    def staged_slices(self, name: str, root: Head) -> Sequence[StagedSlice]:
        return []


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlRunStore]:
    store = open_store(f"sqlite:///{tmp_path / 'runs.db'}", clock=HandClock())
    yield store
    store.close()


def lease_in(store: SqlRunStore, state: State) -> RunLease:
    return RunLease(store.reader, store.writer, "r1", walked_to(store, state).epoch, "ada")


@pytest.mark.parametrize("state", STAGED)
def test_a_run_whose_replay_has_ended_is_staged(store: SqlRunStore, state: State) -> None:
    lease, target = lease_in(store, state), Places([StagingPlace("r1-0", 0, Head("5"))])
    found = staged_run(lease, PLAN, target)
    assert isinstance(found, StagedRun)
    assert (found.plan, found.staging.head, found.staging.epoch) == (PLAN, "5", lease.epoch)
    assert found.end is ReplayEnd.STAGED


@pytest.mark.parametrize("state", OTHERS)
def test_no_other_run_is_and_no_staging_is_made_for_it(store: SqlRunStore, state: State) -> None:
    target = Places()
    with pytest.raises(NotStagedError) as refused:
        staged_run(lease_in(store, state), PLAN, target)
    assert refused.value.fields["run_state"] == state.value
    assert target.places == []
