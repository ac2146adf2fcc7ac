"""Rolls back a whole table to which live has committed since: merges live's events onto the former rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from anabranch.adapters.iceberg.later_rows import Scratch
from anabranch.adapters.iceberg.refs import head_of
from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.slices import Slice
from anabranch.promote.history import Commit
from anabranch.replay.ledger import CATCH_UP
from anabranch.replay.replayer import SliceWriter
from anabranch.replay.staging import Staging


class OtherCodeError(AnabranchError):
    code = "rollback.other-code"
    exit_code = ExitCode.REFUSED


@dataclass(frozen=True)
class LaterRowsByMerge:
    """Replays live's commits since the promotion in their order onto the snapshot before it."""

    writer: SliceWriter
    code: str
    """Digest of the current transform."""
    table: str

    def write(self, staging: Staging, scratch: Scratch) -> None:
        """Raises OtherCodeError, with nothing written, if live ran other code."""
        self._require_same_code(scratch.live)
        place = replace(staging, name=scratch.branch, root=head_of(scratch.grown_from))
        for commit in scratch.live:
            if any(start < end for start, end in commit.offsets.values()):
                self.writer.write(Slice(f"{CATCH_UP}{commit.snapshot}", commit.offsets), place)

    def _require_same_code(self, live: Sequence[Commit]) -> None:
        strange = [commit for commit in live if commit.code != self.code]
        if strange:
            raise OtherCodeError(
                f"Live has written to {self.table} since the promotion by other code than the project has now "
                f"(snapshot {strange[0].snapshot}): its rows can't be made again.",
                state="Production unchanged by this command.",
                hint="restore the code that live ran since the promotion, then run the same command",
                snapshot=strange[0].snapshot,
                code=strange[0].code,
            )
