"""What a rollback can't restore by moving files: rows that live committed after the promotion, written again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from anabranch.errors import AnabranchError, ExitCode
from anabranch.promote.history import Commit
from anabranch.replay.staging import Staging


class RewrittenError(AnabranchError):
    """The files that the promotion added are no longer files of the table, though their rows may be."""

    code = "target.rewritten"
    exit_code = ExitCode.CONFLICT


@dataclass(frozen=True)
class Scratch:
    """A branch made when main was at `head`. It belongs to one epoch, so that no other process writes to it."""

    branch: str
    head: int
    grown_from: int
    """The snapshot that the branch began at."""
    live: tuple[Commit, ...] = ()
    """Live's commits since the promotion, oldest first, where their rows are made again from the topic."""


class LaterRows(Protocol):
    """Implemented where rows can be computed, on Spark. The target commits what it has written."""

    def write(self, staging: Staging, scratch: Scratch) -> None:
        """Write to the scratch branch the rows that live committed after the promotion. Main is not changed.

        Raises an AnabranchError if those rows can't be identified or computed again, or if Spark ends.
        """
