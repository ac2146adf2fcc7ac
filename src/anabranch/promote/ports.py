"""What promotion and rollback ask of a target. Adapters implement it; tests/conformance/target holds them to it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar, Protocol

from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.target_range import TargetPart
from anabranch.promote.capabilities import Capabilities
from anabranch.promote.history import Author, Commit
from anabranch.replay.staging import Staging
from anabranch.runs.heads import Head, Piece


class ConcurrentCommitError(AnabranchError):
    """Another commit came between our look and our commit, or a later epoch has taken staging. Nothing was changed."""

    code = "target.moved"
    exit_code = ExitCode.CONFLICT


@dataclass(frozen=True)
class TargetHistory:
    """The target as it was looked at. A commit is made against this head or not at all."""

    head: Head
    commits: tuple[Commit, ...]
    """Since the base, oldest first."""
    present: frozenset[Piece]
    """Those of the range at the head."""


@dataclass(frozen=True)
class CommitNote:
    """What a commit on production says of itself. `find_commit` finds it by its id when its answer was lost."""

    id: str
    author: Author
    run: str
    epoch: int


class PromotionTarget(Protocol):
    """A table that a run is promoted to. Every method reads the table anew: no state is trusted between two calls.

    `promote` and `rollback` make one atomic commit or none: an AnabranchError means that nothing was committed. After
    any other error the outcome is unknown, and `find_commit` decides it. They are not idempotent by themselves:
    `commit_once` calls them at most once for each commit id that did not land.
    """

    capabilities: ClassVar[Capabilities]
    """What the target promises, whatever the plan."""

    def history_since(self, base: Head, partitions: TargetPart) -> TargetHistory:
        """The head, every commit since `base` with what it did to the range, and the range's pieces. Changes nothing.

        Raises an AnabranchError when commits since the base have expired: what they did is then unknown.
        """

    def find_commit(self, commit_id: str) -> Head | None:
        """The head that the commit with this id made; None: it has not taken effect. Changes nothing.

        None is final only when staging belongs to this process's epoch: a commit of an earlier epoch can then no
        longer land.
        """

    def promote(self, history: TargetHistory, keep: Collection[Piece], staging: Staging, note: CommitNote) -> Head:
        """Replace the range by staging's rows and the pieces in `keep`, in one commit that carries `note`.

        Raises ConcurrentCommitError, with nothing changed, when production is no longer at `history.head` or staging
        is not this epoch's any more. Afterwards `find_commit(note.id)` returns the same head, and whatever
        `rollback` needs is protected from expiry until the run is closed.
        """

    def rollback(self, staging: Staging, note: CommitNote) -> Head:
        """Restore the range's former rows and keep every row committed after the promotion, in one commit.

        Also when the promoted files were compacted since: the target then does it by rows. Raises
        ConcurrentCommitError, with nothing changed, as `promote` does; another AnabranchError when it can't be done.
        """

    def request_live_pause(self, run: str, until: int) -> None:
        """Ask live to hold its commits until this second since 1970, if each of them sends a promotion back.

        No change where live and promotion don't wait for each other. A later request replaces the earlier one. A
        request ends by itself, so that a promoter that dies does not stop live for good.
        """

    def release_live_pause(self, run: str) -> None:
        """Withdraw the request. Idempotent; no change if there is none."""
