"""Classifies the commits to the target since the base: whether a run can be promoted beside them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from anabranch.plan.slices import Offsets
from anabranch.runs.heads import Head, Piece


class Author(str, Enum):
    """The author of a commit to the target, by its properties."""

    LIVE = "live"
    PROMOTION = "promotion"
    ROLLBACK = "rollback"
    REWRITE = "rewrite"
    """Compaction: the same rows in other files."""
    FOREIGN = "foreign"
    """Has neither Anabranch's properties nor offsets, so its records are unknown."""


@dataclass(frozen=True)
class Commit:
    """One commit on main, and the files of the range that it added and removed."""

    snapshot: Head
    author: Author
    run: str | None = None
    code: str | None = None
    """Digest of the transform that made a live commit's rows."""
    offsets: Offsets = field(default_factory=dict)
    added: frozenset[Piece] = frozenset()
    removed: frozenset[Piece] = frozenset()

    @property
    def touches(self) -> bool:
        return bool(self.added or self.removed)


@dataclass(frozen=True)
class ClearToPromote:
    """Promote against the head that was looked at. The pieces in `keep` are live's, made by the plan's own code."""

    keep: frozenset[Piece]


@dataclass(frozen=True)
class StagingBehind:
    """Live added rows by other code, or its files were compacted: replay the offsets of these commits, then classify
    again."""

    commits: tuple[Commit, ...]


@dataclass(frozen=True)
class BlockedByCommit:
    """A commit inside the range whose records are unknown: a promotion would lose them or count them twice."""

    commit: Commit


def other_writer(since_base: Iterable[Commit]) -> Commit | None:
    """The first commit that is no promotion, no rollback and no compaction.

    A commit outside the range counts too: it shows a writer whose position is unknown.
    """
    ours = (Author.PROMOTION, Author.ROLLBACK, Author.REWRITE)
    return next((commit for commit in since_base if commit.author not in ours), None)


def classify_table_commits(
    since_base: Sequence[Commit], *, run: str, reached: Mapping[int, int]
) -> ClearToPromote | StagingBehind | BlockedByCommit:
    """`classify_range_commits` for a run that replaces the whole table, whose rows live's merges depend on.

    Therefore every live commit has to be replayed, with any code and even if it changed no row. `reached` is the end
    offset of staging by partition.
    """
    behind: list[Commit] = []
    for commit in since_base:
        match commit.author:
            case Author.LIVE if commit.offsets:
                if any(end > reached.get(partition, 0) for partition, (_, end) in commit.offsets.items()):
                    behind.append(commit)
            case Author.REWRITE:
                continue
            case Author.PROMOTION | Author.ROLLBACK if commit.run == run:
                continue
            case _ if not commit.touches:
                continue
            case _:
                return BlockedByCommit(commit)
    return StagingBehind(tuple(behind)) if behind else ClearToPromote(frozenset())


def classify_range_commits(
    since_base: Sequence[Commit],
    *,
    run: str,
    code: str,
    staged: Collection[Head],
    present: Collection[str],
    windows: bool = False,
) -> ClearToPromote | StagingBehind | BlockedByCommit:
    """Whether `run`, whose transform has digest `code`, can be promoted after these commits, oldest first.

    `staged` are the live commits, by snapshot, whose offsets are in staging already; `present` are the range's files
    at the head. With `windows` any live commit in the range blocks: the plan requires that live had closed every window
    of the range. Otherwise a live commit has only offsets after the plan's, and its files can be kept without
    counting a record twice.
    """
    keep: set[Piece] = set()
    behind: list[Commit] = []
    for commit in since_base:
        match commit.author:
            case _ if not commit.touches:
                continue
            case Author.REWRITE:
                continue
            case Author.PROMOTION | Author.ROLLBACK if commit.run == run:
                continue
            case Author.LIVE if commit.offsets and not commit.removed and not windows:
                if commit.snapshot in staged:
                    continue
                if commit.code == code and commit.added <= set(present):
                    keep |= commit.added
                else:
                    behind.append(commit)
            case _:
                return BlockedByCommit(commit)
    return StagingBehind(tuple(behind)) if behind else ClearToPromote(frozenset(keep))
