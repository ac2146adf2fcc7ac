"""Attributes the differences in the range to the fix, or to noise: differences that existed before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.replay.ledger import SliceAccount
from anabranch.runs.heads import Head
from anabranch.validate.measures import Difference, Side


@dataclass(frozen=True)
class ControlStaging:
    """The control replay's rows, and those of the corrected code for the same offsets."""

    snapshot: Head
    staged: Head
    """The staging snapshot with the plan's slices, before slices that catch up with live."""
    accounts: tuple[SliceAccount, ...]
    """The ledger of the control replay."""


@dataclass(frozen=True)
class Attribution:
    """Number of differences in a bucket: of keys, or of rows on one side only if the target has no keys."""

    fix: int = 0
    """Production equals the control, and the corrected code gives another row."""
    noise: int = 0
    """Production differs from the control: lost, late or edited rows, or code that is not deterministic."""
    both: int = 0
    """Noise that the corrected code changes too. How much of the difference is due to the fix is unknown."""

    def __add__(self, other: Attribution) -> Attribution:
        return Attribution(self.fix + other.fix, self.noise + other.noise, self.both + other.both)


@dataclass(frozen=True)
class DiffAttribution:
    control: Side
    accounts: tuple[SliceAccount, ...]
    paired: bool
    """Whether rows were paired by the target's keys."""
    buckets: Mapping[int, Attribution]
    """By number of the target's partition; partitions without differences are left out."""
    fix: tuple[Difference, ...] = ()
    """A sample: the control's row and the corrected row."""
    noise: tuple[Difference, ...] = ()
    """A sample: production's row and the control's row."""

    @property
    def total(self) -> Attribution:
        return sum(self.buckets.values(), Attribution())
