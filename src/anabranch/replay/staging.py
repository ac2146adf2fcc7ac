"""Takes staging in hand for an epoch: made new, or handed over from the epoch before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from anabranch.crashpoints import reach
from anabranch.plan.plan import Plan
from anabranch.plan.slices import Offsets
from anabranch.plan.target_range import TargetPart
from anabranch.replay.ledger import CATCH_UP
from anabranch.replay.slice_ledger import SliceLedger
from anabranch.runs.heads import Head
from anabranch.runs.run_lease import RunLease


@dataclass(frozen=True)
class StagingPlace:
    """Staging of one run and epoch, as it is in the target."""

    name: str
    """By which people and adapters find it. A room does not read it."""
    epoch: int
    head: Head


@dataclass(frozen=True)
class Staging:
    """Where a run's rows wait. It belongs to one epoch and is the fence of all that the epoch commits."""

    run: str
    epoch: int
    name: str
    """By which people and adapters find it. A room does not read it."""
    head: Head
    partitions: TargetPart
    state: Head | None = None
    """The state of the table that it was made from, where that is not the base."""
    root: Head | None = None
    """The head that it grew from, where that is not the plan's."""
    control: bool = False
    """Whether it is the one for the control's code, which is only compared with."""

    @property
    def of(self) -> str:
        """Whose rows these are: the run's own, or its control's."""
        return f"{self.run}/control" if self.control else self.run


@dataclass(frozen=True)
class StagedSlice:
    """One slice as staging remembers it: the authority on progress."""

    slice_id: str
    epoch: int
    head: Head
    offsets: Offsets
    ledger: SliceLedger


@dataclass(frozen=True)
class StagingCommit:
    """One commit to staging, and the slice that it says it is."""

    head: Head
    slice_id: str | None


def grown_from(root: Head, line: Sequence[StagingCommit]) -> frozenset[Head]:
    """The head of staging, and every head since which nothing but catching up with live has come.

    `line` is staging's commits since `root`, oldest first.
    """
    found: set[Head] = set()
    for commit in reversed(line):
        found.add(commit.head)
        if commit.slice_id is None or not commit.slice_id.startswith(CATCH_UP):
            return frozenset(found)
    return frozenset({*found, root})


class StagingTarget(Protocol):
    """Where staging is kept. Every method reads the target anew: no state is trusted between two calls."""

    def stagings(self, run: str, *, control: bool = False) -> Sequence[StagingPlace]:
        """Staging of the run, or of its control, by epoch, oldest first. Usually one, or none. Changes nothing."""

    def make_staging(
        self, run: str, epoch: int, root: Head, replaced: TargetPart | None, *, control: bool = False
    ) -> None:
        """Make this epoch's staging: the target at `root` with a part removed, or all of it. Idempotent.

        Readers of production don't see it. Raises an AnabranchError, with nothing made, if `root` has expired.
        """

    def hand_over(self, former: StagingPlace, run: str, epoch: int, *, control: bool = False) -> None:
        """Make this epoch's staging of the former one's content, which is gone afterwards, in one commit. Idempotent.

        From then on nothing of the former epoch can be committed, to staging or to production. No change if the former
        is gone: then a later epoch has it.
        """

    def staged_slices(self, name: str, root: Head) -> Sequence[StagedSlice]:
        """The slices that staging holds, in the order of their commits. Changes nothing."""


def newest(stagings: Iterable[StagingPlace]) -> StagingPlace | None:
    return max(stagings, key=lambda each: each.epoch, default=None)


def take_staging(lease: RunLease, plan: Plan, target: StagingTarget, *, control: bool = False) -> Staging:
    """Staging, or the control's, as this epoch's own. An earlier epoch can commit nothing from here on.

    Raises SupersededError if a later epoch has it.
    """
    run, epoch = lease.run_id, lease.epoch

    def own() -> StagingPlace | None:
        return next((each for each in target.stagings(run, control=control) if each.epoch == epoch), None)

    reach("branch.before")
    while own() is None:
        # Asked each time: what is not there because a later epoch has it is no longer ours to take.
        lease.check_epoch()
        former = newest(each for each in target.stagings(run, control=control) if each.epoch < epoch)
        if former is not None:
            target.hand_over(former, run, epoch, control=control)
        else:
            target.make_staging(run, epoch, plan.staging_base, plan.replaced_range, control=control)
    reach("branch.after")
    found = own()
    if found is None:
        lease.check_epoch()
        raise AssertionError(f"staging of run {run}, epoch {epoch}, was created and does not exist")
    return Staging(run, epoch, found.name, found.head, plan.target.partitions, plan.start_snapshot, control=control)
