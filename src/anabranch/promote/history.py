"""What happened to the target since the base, and what that means for joining a run in. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum


class Author(str, Enum):
    """Who made a commit on the target, as its properties say."""

    LIVE = "live"
    PROMOTION = "promotion"
    ROLLBACK = "rollback"
    REWRITE = "rewrite"
    """Compaction: other files, the same rows."""
    FOREIGN = "foreign"
    """Carries neither our properties nor offsets: we can't tell which records it holds."""


Offsets = Mapping[int, tuple[int, int]]
"""[start, end) of each partition."""


@dataclass(frozen=True)
class Commit:
    """One commit on the target's main line."""

    snapshot: int
    author: Author
    run: str | None = None
    offsets: Offsets = field(default_factory=dict)
    added: frozenset[str] = frozenset()
    """Data files inside the range that it added."""
    removed: frozenset[str] = frozenset()
    """Data files inside the range that it took out."""

    @property
    def touches(self) -> bool:
        return bool(self.added or self.removed)


@dataclass(frozen=True)
class Clear:
    """Nothing in the range that staging does not hold already: promote against the head that was looked at."""


@dataclass(frozen=True)
class CatchUp:
    """Live added rows inside the range: replay the offsets of these commits into staging, then look again."""

    commits: tuple[Commit, ...]


@dataclass(frozen=True)
class Blocked:
    """A commit inside the range whose records we don't know: promoting would lose them."""

    commit: Commit


def judge(since_base: Sequence[Commit], run: str, staged: Collection[int]) -> Clear | CatchUp | Blocked:
    """What the commits since the base, oldest first, mean for promoting `run`.

    `staged` are the snapshots of live commits whose offsets are in staging already.
    """
    behind: list[Commit] = []
    for commit in since_base:
        if not commit.touches:
            continue
        match commit.author:
            case Author.REWRITE:
                continue
            case Author.PROMOTION | Author.ROLLBACK if commit.run == run:
                continue
            case Author.LIVE if commit.snapshot in staged:
                continue
            case Author.LIVE if commit.offsets and not commit.removed:
                behind.append(commit)
            case _:
                return Blocked(commit)
    return CatchUp(tuple(behind)) if behind else Clear()
