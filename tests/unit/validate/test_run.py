"""A validation on a real store: what is on record and filed, whatever happens in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from tests.conformance.run_store.scene import HandClock, walked_to
from tests.unit.validate.evidence import ACCOUNTS, MEASURES, PLAN, SLICES, contract, pipeline

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.errors import AnabranchError
from anabranch.plan.plan import Plan
from anabranch.plan.target_range import TargetPart
from anabranch.replay.ledger import Account
from anabranch.replay.slice_ledger import SliceLedger
from anabranch.replay.staged import StagedRun, staged_run
from anabranch.replay.staging import StagedSlice, Staging, StagingPlace
from anabranch.runs.heads import Head
from anabranch.runs.journal import Outcome
from anabranch.runs.lease import SupersededError
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import State
from anabranch.validate.accepted import AcceptedRun, RejectedRun, ValidationResult, last_accepted
from anabranch.validate.attribution import ControlStaging
from anabranch.validate.measures import Measures
from anabranch.validate.report import Report
from anabranch.validate.run import ValidationRun

NOON = datetime(2025, 6, 2, 12, tzinfo=timezone.utc)
STAGED_AT = Head("2")


class ChangedError(AnabranchError):
    code = "test.changed"


@dataclass
class World:
    """What a validation looks at and files to. `while_measured` happens while staging is measured."""

    lease: RunLease
    measures: Measures = MEASURES
    accounts: tuple[Account, ...] = tuple(each.partitions[0] for each in ACCOUNTS)
    while_measured: Callable[[], None] = lambda: None
    same_checks: bool = True
    filed: list[Report] = field(default_factory=list)
    controls: list[ControlStaging | None] = field(default_factory=list)

    def stagings(self, run: str, *, control: bool = False) -> Sequence[StagingPlace]:
        return [StagingPlace(f"{run}{'-control' if control else ''}", self.lease.epoch, STAGED_AT)]

    def make_staging(
        self, run: str, epoch: int, root: Head, replaced: TargetPart | None, *, control: bool = False
    ) -> None:
        raise AssertionError("it exists")

    def hand_over(self, former: StagingPlace, run: str, epoch: int, *, control: bool = False) -> None:
        raise AssertionError("it is this epoch's")

    def staged_slices(self, name: str, root: Head) -> Sequence[StagedSlice]:
        return [
            StagedSlice(
                each.id, self.lease.epoch, Head(f"{name}-{each.id}"), each.offsets, SliceLedger(0, {0: account})
            )
            for each, account in zip(SLICES, self.accounts, strict=True)
        ]

    def measure(self, staging: Staging, control: ControlStaging | None, phase: Callable[[str], None]) -> Measures:
        self.controls.append(control)
        self.while_measured()
        return self.measures

    def file(self, report: Report) -> None:
        self.filed.append(report)

    def require_same_checks(self) -> None:
        if not self.same_checks:
            raise ChangedError("A file of a check has changed.", state="Nothing was changed.", command="anabranch plan")

    def change_checks(self) -> None:
        self.same_checks = False

    def staged(self, plan: Plan = PLAN) -> StagedRun:
        return staged_run(self.lease, plan, self)

    def validate(self, staged: StagedRun | None = None) -> ValidationResult:
        run = ValidationRun(self.lease, contract, pipeline(), self, self.measure, self.file, self.require_same_checks)
        return run(staged or self.staged(), NOON, lambda _: None)

    @property
    def outcomes(self) -> list[Outcome | None]:
        return [each.outcome for each in self.lease.reader.journal("r1") if each.step == "validate"]

    @property
    def state(self) -> State:
        return self.lease.run.state


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    store = open_store(f"sqlite:///{tmp_path / 'runs.db'}", clock=HandClock())
    yield World(lease_of(store))
    store.close()


def lease_of(store: SqlRunStore) -> RunLease:
    return RunLease(store.reader, store.writer, "r1", walked_to(store, State.STAGED).epoch, "ada")


def test_an_accepted_run_is_of_the_head_that_was_measured(world: World) -> None:
    found = world.validate()
    assert found.judged == AcceptedRun(PLAN, STAGED_AT)
    assert (world.state, world.outcomes) == (State.VALIDATED, [Outcome.SUCCEEDED])
    assert world.filed == [found.report]
    on_record = last_accepted(world.lease.reader, "r1")
    assert on_record is not None
    assert on_record.staging == STAGED_AT


def test_a_rejected_run_is_on_record_as_such_and_can_be_validated_again(world: World) -> None:
    world.accounts = (Account(11, output=8, filtered=2, rows=8), world.accounts[1])
    found = world.validate()
    assert isinstance(found.judged, RejectedRun)
    assert [each.check for each in found.judged.failed] == ["conservation"]
    assert (world.state, last_accepted(world.lease.reader, "r1")) == (State.REJECTED, None)
    world.accounts = tuple(each.partitions[0] for each in ACCOUNTS)
    assert world.validate().accepted
    assert (world.state, world.outcomes) == (State.VALIDATED, [Outcome.SUCCEEDED, Outcome.SUCCEEDED])


def test_checks_that_changed_before_are_refused_before_anything_is_measured(world: World) -> None:
    world.change_checks()
    with pytest.raises(ChangedError):
        world.validate()
    assert (world.controls, world.outcomes, world.state) == ([], [], State.STAGED)


def test_checks_that_change_while_staging_is_measured_reach_no_verdict(world: World) -> None:
    world.while_measured = world.change_checks
    with pytest.raises(ChangedError):
        world.validate()
    assert (world.filed, world.outcomes, world.state) == ([], [None], State.STAGED)
    world.same_checks, world.while_measured = True, lambda: None
    assert world.validate().accepted
    assert world.outcomes == [Outcome.FAILED, Outcome.SUCCEEDED], "the first attempt is closed by the second"


def test_a_superseded_validation_files_and_records_nothing(world: World) -> None:
    def take_over() -> None:
        world.lease.writer.acquire("r1", "another", timedelta(hours=1), actor="bob", take_over=True)

    world.while_measured = take_over
    with pytest.raises(SupersededError):
        world.validate()
    assert (world.filed, world.outcomes, world.state) == ([], [None], State.STAGED)


def test_a_control_is_compared_with_staging_before_it_caught_up(world: World) -> None:
    plan = replace(PLAN, control="c" * 64)
    world.validate(world.staged(plan))
    [control] = world.controls
    assert control is not None
    assert (control.snapshot, control.staged) == (STAGED_AT, "r1-s00001"), "the last slice of the plan's own"
