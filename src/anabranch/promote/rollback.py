"""Takes a promoted run out again: the former rows of the range back, every later commit of live kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from anabranch.promote.commit import Act, commit_once
from anabranch.promote.promotion import ATTEMPTS
from anabranch.promote.target import CommitNote, ConcurrentCommitError, PromotionTarget, RewrittenError
from anabranch.replay.staging import Staging
from anabranch.runs.run_lease import RunLease

ByRows = Callable[[Staging, CommitNote], int]
"""Rolls back row by row, for when the promoted files were compacted away. Raises MovedError like `take_out`."""


@dataclass(frozen=True)
class Rollback:
    lease: RunLease
    target: PromotionTarget
    staging: Staging
    by_rows: ByRows

    def __call__(self) -> int:
        """The snapshot with the former rows. Called again after any crash, it finishes or backs out and does it."""
        return commit_once(self.lease, self.target, Act.ROLL_BACK, self._take_out)

    def _take_out(self, note: CommitNote) -> int:
        for _ in range(ATTEMPTS):
            try:
                return self._by_files_or_rows(note)
            except ConcurrentCommitError as moved:
                self.lease.check_epoch()
                last = moved
        raise last

    def _by_files_or_rows(self, note: CommitNote) -> int:
        try:
            return self.target.take_out(self.staging, note)
        except RewrittenError:
            # Gone they also are when a later epoch has rolled back already: then there is nothing to do by rows.
            self.lease.check_epoch()
            return self.by_rows(self.staging, note)
