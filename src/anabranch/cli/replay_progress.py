"""The line that shows the progress of a replay, from its values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anabranch.plan.slices import Slice
    from anabranch.replay.replayer import SliceProgress


@dataclass(frozen=True)
class ReplayProgress:
    """The state of a replay at one moment. Times are seconds of one clock."""

    phase: str
    """The activity outside a slice."""
    phase_since: float
    total: int | None = None
    """Offsets of all slices; None: not known yet."""
    committed: int = 0
    """Offsets of the slices in staging."""
    before: int = 0
    """The part of `committed` that was in staging when this process began."""
    slice_: Slice | None = None
    """The current slice."""
    inside: SliceProgress | None = None
    bytes: int = 0
    """Read since `replaying_since`."""
    replaying_since: float = 0.0
    paused: float = 0.0
    """Seconds since then in which the replay was paused."""
    lag: int | None = None
    """Live lag in offsets."""
    pace: str | None = None
    """What limits the replay, and why."""

    @property
    def done(self) -> float:
        """Offsets, including the read share of the current slice."""
        if self.slice_ is None or self.inside is None or not self.inside.planned:
            return self.committed
        return self.committed + self.slice_.width * self.inside.read / self.inside.planned


def line(progress: ReplayProgress, now: float) -> str:
    """Parts separated by two spaces. Rate and remaining time are included once records were read."""
    return "  ".join(_parts(progress, now))


def share(progress: ReplayProgress) -> str:
    """Rounded down: 100 % means that every slice is committed."""
    if not progress.total:
        return "100 %" if progress.total == 0 else ""
    return f"{int(100 * progress.done / progress.total)} %"


def _parts(progress: ReplayProgress, now: float) -> Iterator[str]:
    from anabranch.project.quantities import format_rate

    slice_, inside = progress.slice_, progress.inside
    if slice_ is None or inside is None:
        seconds = int(now - progress.phase_since)
        yield progress.phase if seconds < 1 else f"{progress.phase}, {duration(seconds)}"
        if progress.before == progress.done:
            return
    else:
        yield f"{inside.step.value} slice {slice_.id}"
        yield f"{inside.read:,} of {inside.planned:,} records"
    elapsed = now - progress.replaying_since - progress.paused
    read = progress.done - progress.before
    if read > 0 and elapsed >= 1 and progress.total is not None:
        yield f"{read / elapsed:,.0f} records/s"
        yield format_rate(progress.bytes / elapsed)
        yield f"{duration((progress.total - progress.done) / (read / elapsed))} left"
    if progress.lag is not None:
        yield f"live lag {progress.lag:,}"
    if progress.pace is not None:
        yield progress.pace


def duration(seconds: float) -> str:
    """In suitable units: 40 s, 3 min, 2 h 5 min."""
    whole = round(seconds)
    if whole < 90:
        return f"{whole} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
