"""The targets that the suite runs over. The next implementation adds its kind to KINDS and changes no test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from tests.conformance.target.iceberg_range import IcebergRangeKind
from tests.conformance.target.iceberg_swap import IcebergSwapKind

from anabranch.close.closure import ClosingTarget
from anabranch.plan.plan import Plan
from anabranch.plan.slices import Slice
from anabranch.promote.approved import StagingHistory
from anabranch.promote.history import Commit
from anabranch.promote.ports import PromotionTarget
from anabranch.replay.slice_ledger import SliceLedger
from anabranch.replay.staging import Staging, StagingTarget
from anabranch.replay.superseded import StrayTarget

Rows = Counter[tuple[object, ...]]
"""A multiset of rows, read by a plain reader that shares nothing with the product."""


class Target(StagingTarget, StrayTarget, StagingHistory, PromotionTarget, ClosingTarget, Protocol):
    """Every port that the rooms use, of one table."""


class TargetKind(Protocol):
    """A table of some rows with a range to replace, and everything that can happen to it. Makes the table when made."""

    own_code: str
    """Digest of the code that the plan is for."""
    keeps_live: bool
    """Whether live's rows in the range stay as they are where live ran the plan's code; else they are replayed."""

    @property
    def plan(self) -> Plan: ...

    def target(self) -> Target:
        """A fresh client, as another process would have. A rollback that has to write rows can do so, without Spark."""

    def losing_its_answer(self, *, commits: bool) -> tuple[Target, Callable[[], None]]:
        """A client, and what makes it lose the answer to its next commit, which takes effect or does not."""

    def stage(self, staging: Staging) -> None:
        """Write the corrected rows of the range to staging."""

    def stage_slice(self, staging: Staging, slice_: Slice, ledger: SliceLedger) -> None:
        """One commit to staging that carries slice, epoch, offsets and ledger, as the target's slice writer makes it.

        It adds the rows of the range that live has written at the slice's offsets.
        """

    def stage_live(self, staging: Staging, commits: Iterable[Commit]) -> None:
        """Write the rows of these commits of live to staging, as catching up does."""

    def live(self, *, inside: bool = True, code: str | None = None) -> Rows:
        """One commit of live by the plan's code or another, into the range or, where there is anything, beside it.

        Returns its one row, whose first value is the offset of partition 0 that it was made of.
        """

    def stranger(self) -> Rows:
        """One commit into the range that carries no properties. Its rows."""

    def compact(self) -> None:
        """Write every data file of the target again, with the same rows."""

    def expire(self) -> None:
        """Remove every former version that nothing protects, however young."""

    def pause_requested(self) -> int:
        """Until when a promotion has requested that live pauses; 0: there is no request, or live never pauses."""

    def rows(self) -> Rows:
        """What a reader of production sees."""

    def data_files(self) -> frozenset[str]:
        """Every data file that was ever written and is still there."""

    @property
    def former(self) -> Rows:
        """Production at the plan's base."""

    @property
    def corrected(self) -> Rows:
        """Production with the range replaced by what `stage` writes."""

    def close(self) -> None: ...


KINDS: dict[str, Callable[[Path], TargetKind]] = {
    "iceberg-range": IcebergRangeKind,
    "iceberg-swap": IcebergSwapKind,
}
