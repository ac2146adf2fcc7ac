"""Rolls back a promoted run: restores the former rows of the range and keeps every later commit of live."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.promote.commit import Act, commit_once
from anabranch.promote.ports import CommitNote, ConcurrentCommitError, PromotionTarget
from anabranch.promote.promotion import ATTEMPTS
from anabranch.replay.staging import Staging
from anabranch.runs.heads import Head
from anabranch.runs.run_lease import RunLease


@dataclass(frozen=True)
class Rollback:
    lease: RunLease
    target: PromotionTarget
    staging: Staging

    def __call__(self) -> Head:
        """Roll back and return the snapshot. Called again after a crash, it completes or reverts the attempt first."""
        return commit_once(self.lease, self.target, Act.ROLL_BACK, self._roll_back)

    def _roll_back(self, note: CommitNote) -> Head:
        for _ in range(ATTEMPTS):
            try:
                return self.target.rollback(self.staging, note)
            except ConcurrentCommitError as moved:
                self.lease.check_epoch()
                last = moved
        raise last
