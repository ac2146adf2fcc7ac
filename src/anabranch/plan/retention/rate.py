"""How long a slice takes, by the best measurement there is: the rehearsal, the contract's rate, or a probe. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.plan.forecast.rehearsed import Rehearsed, variants_of
from anabranch.plan.plan import Plan
from anabranch.plan.retention.race import SliceSeconds
from anabranch.project.quantities import format_rate


@dataclass(frozen=True)
class ReplayRate:
    seconds: SliceSeconds
    words: str
    """What it is measured by."""


def planned_rate(
    plan: Plan,
    rehearsed: Rehearsed | None,
    bytes_per_second: int | None,
    bytes_per_offset: float | None,
    probed: float | None = None,
) -> ReplayRate | None:
    """By the rehearsal; without one, by the lesser of the contract's rate and the probed rate of one consumer, which
    is only the time to read. None: neither is known."""
    variants = variants_of(plan)
    if rehearsed is not None:
        words = f"the rehearsal, {rehearsed.records_per_second:,.0f} records/s"
        return ReplayRate(lambda each: variants * rehearsed.replay_seconds([each], bytes_per_second), words)
    rates = [(rate, words) for rate, words in ((bytes_per_second, "the contract's rate"), (probed, "a probe")) if rate]
    if not rates or bytes_per_offset is None:
        return None
    rate, words = min(rates)
    per_offset = variants * bytes_per_offset / rate
    return ReplayRate(lambda each: per_offset * each.width, f"{words}, {format_rate(rate)}, reading only")


def observed_rate(offsets: int, seconds: float, slices: int) -> ReplayRate | None:
    """By what this replay has read so far, waits included; None before its first slice is done."""
    if not offsets:
        return None
    per_offset = seconds / offsets
    return ReplayRate(
        lambda each: per_offset * each.width,
        f"this replay, {offsets / max(seconds, 1e-9):,.0f} offsets/s in {slices} slice{'' if slices == 1 else 's'}",
    )
