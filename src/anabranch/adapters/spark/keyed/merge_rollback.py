"""Rollback of a whole table that live has written since: its events merged onto the former rows, then swapped in."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.adapters.iceberg.table_swap import TableSwapTarget
from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.slices import Slice
from anabranch.promote.target import CommitNote, ConcurrentCommitError
from anabranch.replay.ledger import CATCH_UP
from anabranch.replay.replayer import SliceWriter
from anabranch.replay.staging import Staging


class OtherCodeError(AnabranchError):
    code = "rollback.other-code"
    exit_code = ExitCode.REFUSED


@dataclass(frozen=True)
class ScratchStaging(Staging):
    """The scratch branch in place of staging's own, for whoever writes slices."""

    @property
    def branch(self) -> str:
        return self.scratch


@dataclass(frozen=True)
class MergeRollback:
    target: TableSwapTarget
    writer: SliceWriter
    code: str
    """Digest of the transform as it is now."""

    def __call__(self, staging: Staging, note: CommitNote) -> int:
        """What live has written since the promotion is merged onto what the table was before it, in live's order."""
        later = self.target.later(staging)
        strange = [commit for commit in later.live if commit.code != self.code]
        if strange:
            raise OtherCodeError(
                f"Live has written to {self.target.name} since the promotion by other code than the project has now "
                f"(snapshot {strange[0].snapshot}): its rows can't be made again.",
                state="Production is as it was before this command.",
                hint="put the code back that live ran since the promotion, and run the same command",
                snapshot=strange[0].snapshot,
                code=strange[0].code,
            )
        scratch = self.target.make_scratch(staging)
        if scratch.head != later.head:
            raise ConcurrentCommitError(
                f"{self.target.name} was changed by somebody else just now.",
                state="Our change was not made; theirs stands.",
                hint="run the same command again: it looks at the new state first",
            )
        former = self.target.head(staging.before)
        place = ScratchStaging(staging.run, staging.epoch, staging.snapshot, staging.partitions, root=former)
        for commit in later.live:
            if any(start < end for start, end in commit.offsets.values()):
                self.writer.write(Slice(f"{CATCH_UP}{commit.snapshot}", commit.offsets), place)
        return self.target.put_back(staging, scratch, note)
