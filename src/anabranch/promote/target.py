"""What promotion and rollback ask of a target. Implemented by adapters; one conformance suite over all."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.target_range import TargetPart
from anabranch.promote.history import Author, Commit
from anabranch.replay.staging import Staging


class ConcurrentCommitError(AnabranchError):
    """Somebody committed between our look and our commit. The caller looks again."""

    code = "target.moved"
    exit_code = ExitCode.CONFLICT


class RewrittenError(AnabranchError):
    """The promoted files are no longer files of the table, though their rows may be."""

    code = "target.rewritten"
    exit_code = ExitCode.CONFLICT


@dataclass(frozen=True)
class TargetHistory:
    """The target as it was looked at. A commit is made against this head or not at all."""

    head: int
    commits: tuple[Commit, ...]
    """Since the base, oldest first."""
    present: frozenset[str]
    """The range's files at the head."""


@dataclass(frozen=True)
class CommitNote:
    """What a commit on main says of itself. By its id it is found again when its outcome was not heard."""

    id: str
    author: Author
    run: str
    epoch: int


class PromotionTarget(Protocol):
    """Every method looks at the target anew."""

    def survey(self, base: int, partitions: TargetPart) -> TargetHistory: ...

    def landed(self, commit_id: str) -> int | None:
        """The snapshot on main with this commit id, if that commit took effect."""

    def join_in(self, survey: TargetHistory, keep: Collection[str], staging: Staging, note: CommitNote) -> int:
        """Replace the range by staging's rows and the kept files, in one commit against the surveyed head.

        Raises MovedError, with nothing changed, when main or the epoch's branch is not where it was seen.
        """

    def take_out(self, staging: Staging, note: CommitNote) -> int:
        """Undo the promotion in one commit, keeping what came after it. Raises MovedError or RewrittenError."""
