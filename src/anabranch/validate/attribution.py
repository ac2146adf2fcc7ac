"""What differs in the range, and what it is charged to: the fix, or noise that was there before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.replay.ledger import SliceAccount
from anabranch.runs.heads import Head
from anabranch.validate.measures import Difference, Side


@dataclass(frozen=True)
class ControlStaging:
    """The control's rows, and the corrected code's over the same offsets."""

    snapshot: Head
    staged: Head
    """The snapshot of staging with the plan's own slices, before any that caught up with live."""
    accounts: tuple[SliceAccount, ...]
    """The control's ledger."""


@dataclass(frozen=True)
class Attribution:
    """Rows of a bucket that differ: by key, or one-sided ones where there are no keys."""

    fix: int = 0
    """Production is what its code makes of the offsets, and the corrected code makes something else of them."""
    noise: int = 0
    """Production is not what its code makes of the offsets: lost, late, edited, or code that can't repeat itself."""
    both: int = 0
    """Of the noise, what the corrected code changes too: nobody can say how much of that difference is the fix."""

    def __add__(self, other: Attribution) -> Attribution:
        return Attribution(self.fix + other.fix, self.noise + other.noise, self.both + other.both)


@dataclass(frozen=True)
class DiffAttribution:
    control: Side
    accounts: tuple[SliceAccount, ...]
    paired: bool
    """By the target's keys."""
    buckets: Mapping[int, Attribution]
    """By number of the target's partition; those in which nothing differs are left out."""
    fix: tuple[Difference, ...] = ()
    """A sample: the control's row, and the corrected one."""
    noise: tuple[Difference, ...] = ()
    """A sample: production's row, and the control's."""

    @property
    def total(self) -> Attribution:
        return sum(self.buckets.values(), Attribution())
