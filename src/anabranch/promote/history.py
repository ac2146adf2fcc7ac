"""What happened to the target since the base, and what that means for joining a run in. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from anabranch.plan.slices import Offsets
from anabranch.runs.heads import Head, Piece


class Author(str, Enum):
    """Who made a commit on the target, as its properties say."""

    LIVE = "live"
    PROMOTION = "promotion"
    ROLLBACK = "rollback"
    REWRITE = "rewrite"
    """Compaction: other files, the same rows."""
    FOREIGN = "foreign"
    """Carries neither our properties nor offsets: we can't tell which records it holds."""


@dataclass(frozen=True)
class Commit:
    """One commit on the target's main line, and what it did to the range."""

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
    """Live added rows by other code, or they were compacted since: replay these commits' offsets, then look again."""

    commits: tuple[Commit, ...]


@dataclass(frozen=True)
class BlockedByCommit:
    """A commit inside the range whose records we don't know: promoting would lose them, or count them twice."""

    commit: Commit


def other_writer(since_base: Iterable[Commit]) -> Commit | None:
    """The first commit by anything but Anabranch's promotions and rollbacks, or a compaction, which changes no row.

    Also one outside the range: it shows that something writes to the table, from a position that is unknown.
    """
    ours = (Author.PROMOTION, Author.ROLLBACK, Author.REWRITE)
    return next((commit for commit in since_base if commit.author not in ours), None)


def classify_table_commits(
    since_base: Sequence[Commit], *, run: str, reached: Mapping[int, int]
) -> ClearToPromote | StagingBehind | BlockedByCommit:
    """The same for a run that replaces the whole table: live's merges were made onto the state that is replaced.

    So every live commit has to be replayed too, whatever its code and whether or not it changed a row. `reached` is
    how far staging has come, by partition.
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
    """What the commits since the base, oldest first, mean for promoting `run`, whose transform is `code`.

    `staged` are the live commits, by snapshot, whose offsets are in staging already; `present` are the range's files
    at the head. With `windows` nothing is kept or caught up with: live had written every window of the range for good,
    so that a later commit there is not what was planned for. Otherwise a live commit holds only offsets after the
    plan's, and keeping it counts nothing twice.
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
