"""The port of a target for promotion and rollback. tests/conformance/target tests every implementation."""

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
    """Another commit came after the target was read, or a later epoch has taken over staging. Nothing was changed."""

    code = "target.moved"
    exit_code = ExitCode.CONFLICT


@dataclass(frozen=True)
class TargetHistory:
    """The target as it was read. A commit is made against this head or refused."""

    head: Head
    commits: tuple[Commit, ...]
    """Since the base, oldest first."""
    present: frozenset[Piece]
    """Those of the range at the head."""


@dataclass(frozen=True)
class CommitNote:
    """The properties of a commit to production. `find_commit` finds it by its id if the response was lost."""

    id: str
    author: Author
    run: str
    epoch: int


class PromotionTarget(Protocol):
    """A table that a run is promoted to. Every method reads the current table; nothing is cached between calls.

    `promote` and `rollback` make one atomic commit or none: an AnabranchError means that nothing was committed. After
    any other error the outcome is unknown, and `find_commit` resolves it. They are not idempotent: `commit_once`
    calls them at most once for each commit id that took no effect.
    """

    capabilities: ClassVar[Capabilities]
    """The target's guarantees, which do not depend on the plan."""

    def history_since(self, base: Head, partitions: TargetPart) -> TargetHistory:
        """The head, every commit since `base` with what it did to the range, and the range's pieces. Changes nothing.

        Raises an AnabranchError if commits since the base have expired.
        """

    def find_commit(self, commit_id: str) -> Head | None:
        """The head that the commit with this id made; None: it has not taken effect. Changes nothing.

        None is final only if staging belongs to this process's epoch: then a commit of an earlier epoch is refused.
        """

    def promote(self, history: TargetHistory, keep: Collection[Piece], staging: Staging, note: CommitNote) -> Head:
        """Replace the range by staging's rows and the pieces in `keep`, in one commit that carries `note`.

        Raises ConcurrentCommitError, with nothing changed, if production is no longer at `history.head` or staging no
        longer belongs to this epoch. Afterwards `find_commit(note.id)` returns the same head, and whatever
        `rollback` needs is protected from expiry until the run is closed.
        """

    def rollback(self, staging: Staging, note: CommitNote) -> Head:
        """Restore the range's former rows and keep every row committed after the promotion, in one commit.

        If the promoted files were compacted since, the target compares rows instead of files. Raises
        ConcurrentCommitError as `promote` does, and another AnabranchError if a rollback is impossible; both change
        nothing.
        """

    def request_live_pause(self, run: str, until: int) -> None:
        """Request that live pauses its commits until this Unix time, if each of them makes a promotion start over.

        No change where promotion keeps live's commits. A later request replaces the earlier one. A request expires, so
        a promoter that dies does not stop live permanently.
        """

    def release_live_pause(self, run: str) -> None:
        """Withdraw the request. Idempotent; no change if there is none."""
