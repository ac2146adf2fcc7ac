"""Rewrites live's rows after a promotion, for a rollback that can't restore them by moving files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from anabranch.errors import AnabranchError, ExitCode
from anabranch.promote.history import Commit
from anabranch.replay.staging import Staging


class RewrittenError(AnabranchError):
    """The table no longer has the files that the promotion added; it may still have their rows."""

    code = "target.rewritten"
    exit_code = ExitCode.CONFLICT


@dataclass(frozen=True)
class Scratch:
    """A branch made when main was at `head`. It belongs to one epoch, so that no other process writes to it."""

    branch: str
    head: int
    grown_from: int
    """The snapshot that the branch was created from."""
    live: tuple[Commit, ...] = ()
    """Live's commits since the promotion, oldest first, if their rows are replayed from the topic."""


class LaterRows(Protocol):
    """Implemented on Spark. The target commits the rows that it writes."""

    def write(self, staging: Staging, scratch: Scratch) -> None:
        """Write to the scratch branch the rows that live committed after the promotion. Main is not changed.

        Raises an AnabranchError if those rows can't be identified or recomputed, or if Spark ends.
        """
