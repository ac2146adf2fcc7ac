"""Takes staging in hand for an epoch: made new, or handed over from the epoch before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from anabranch.crashpoints import reach
from anabranch.plan.plan import Plan
from anabranch.plan.slices import Offsets
from anabranch.plan.target_range import TargetPart
from anabranch.replay.ledger import CATCH_UP
from anabranch.replay.slice_ledger import SliceLedger
from anabranch.runs.run_lease import RunLease


@dataclass(frozen=True)
class Staging:
    """Where a run's rows wait. The branch belongs to one epoch and is the fence of all that the epoch commits."""

    run: str
    epoch: int
    snapshot: int
    partitions: TargetPart
    state: int | None = None
    """The state of the table that it was made from, where that is not the base."""
    root: int | None = None
    """The snapshot that the branch grew from, where that is not the plan's."""
    control: bool = False
    """Whether it is the one for the control's code, which is only compared with."""

    @property
    def branch(self) -> str:
        return staging_branch(self.run, self.epoch, control=self.control)

    @property
    def of(self) -> str:
        """Whose rows these are: the run's own, or its control's."""
        return f"{self.run}/control" if self.control else self.run

    @property
    def before(self) -> str:
        """The tag on main's head before the promotion."""
        return f"ab_{self.run}_before"

    @property
    def after(self) -> str:
        """The tag on the promotion itself."""
        return f"ab_{self.run}_after"

    @property
    def scratch(self) -> str:
        """The branch for rows that a rollback has to write again; of one epoch, so that nobody else writes to it."""
        return scratch_branch(self.run, self.epoch)


@dataclass(frozen=True)
class StagedSlice:
    """One slice as staging remembers it: the authority on progress."""

    slice_id: str
    epoch: int
    snapshot: int
    offsets: Offsets
    ledger: SliceLedger


@dataclass(frozen=True)
class StagingCommit:
    """One commit of a staging branch, and the slice that it says it is."""

    snapshot: int
    slice_id: str | None


def grown_from(root: int, line: Sequence[StagingCommit]) -> frozenset[int]:
    """The head of a staging branch, and every snapshot since which nothing but catching up with live has come.

    `line` is the branch's commits since `root`, oldest first.
    """
    found: set[int] = set()
    for commit in reversed(line):
        found.add(commit.snapshot)
        if commit.slice_id is None or not commit.slice_id.startswith(CATCH_UP):
            return frozenset(found)
    return frozenset({*found, root})


class StagingTarget(Protocol):
    """Every method looks at the target anew."""

    def head(self, ref: str) -> int | None: ...

    def branches(self, run: str, *, control: bool = False) -> Sequence[str]:
        """The staging branches of the run, or those of its control, of whatever epoch."""

    def stage(
        self, branch: str, staging_base: int, replaced_range: TargetPart | None, properties: Mapping[str, str]
    ) -> None:
        """Create the branch from `staging_base`, without the replaced range if there is one."""

    def hand_over(self, old: str, new: str) -> None:
        """Give the old branch's content to the new one and remove the old, in one commit. No change if old is gone."""

    def staged(self, branch: str, root: int) -> Sequence[StagedSlice]: ...


def take_staging(lease: RunLease, plan: Plan, target: StagingTarget, *, control: bool = False) -> Staging:
    """Staging, or the control's, as this epoch's own. Whoever worked under an earlier epoch can commit nothing from
    here on."""
    mine = staging_branch(lease.run_id, lease.epoch, control=control)
    reach("branch.before")
    while target.head(mine) is None:
        # Asked each time: what is not there because a later epoch has it is no longer ours to take.
        lease.check_epoch()
        branches = target.branches(lease.run_id, control=control)
        earlier = [branch for branch in branches if epoch_of(branch) < lease.epoch]
        if earlier:
            target.hand_over(max(earlier, key=epoch_of), mine)
        else:
            target.stage(mine, plan.staging_base, plan.replaced_range, {})
    reach("branch.after")
    head = target.head(mine)
    if head is None:
        lease.check_epoch()
        raise AssertionError(f"{mine} was made and is not there")
    state = None if plan.state is None else plan.state.snapshot
    return Staging(lease.run_id, lease.epoch, head, plan.target.partitions, state, control=control)


def epoch_of(branch: str) -> int:
    """The epoch that a staging branch belongs to."""
    return int(branch.rpartition("_e")[2])


def scratch_branch(run: str, epoch: int) -> str:
    return f"ab_{run}_scratch_e{epoch}"


def staging_branch(run: str, epoch: int, *, control: bool = False) -> str:
    return f"ab_{run}_control_e{epoch}" if control else f"ab_{run}_e{epoch}"
