"""Live's batches with windows, as its commits record them: offsets read, windows closed, events dropped. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from anabranch.contract.event_window import EventWindow
from anabranch.plan.slices import Offsets

_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True)
class WindowedBatch:
    query: str
    number: int
    topic: str
    """UUID of the topic that the offsets are of."""
    offsets: Offsets
    watermark: int
    """In ms: windows that ended by then are written and final after this batch."""
    late_before: int
    """In ms: events of windows that ended by then were dropped."""
    late: int | None = None
    """Lower bound of events dropped from windows; None: not recorded."""
    window: str | None = None
    """The windows for which they were counted."""

    def none_late(self, window: EventWindow) -> bool:
        """Whether it certainly dropped no event of these windows."""
        return self.late == 0 and self.window == window_text(window)


def window_text(window: EventWindow) -> str:
    """Identifies the windows that live counted by; a pipeline may declare others later."""
    return f"{window.kind} {(window.size or window.gap or timedelta()) // _MILLISECOND}/{window.step // _MILLISECOND}"


def chain(batches: Iterable[WindowedBatch], query: str, after: int, until: int) -> tuple[WindowedBatch, ...] | None:
    """The query's batches after number `after`, up to the first whose watermark reaches `until` (ms).

    None if one of them is unknown, or does not begin where the previous one ended.
    """
    known = {batch.number: batch for batch in batches if batch.query == query}
    following: list[WindowedBatch] = []
    while not following or following[-1].watermark < until:
        batch = known.get(after + len(following) + 1)
        if batch is None or (following and not _follows(batch, following[-1])):
            return None
        following.append(batch)
    return tuple(following)


def _follows(batch: WindowedBatch, former: WindowedBatch) -> bool:
    starts = {partition: start for partition, (start, _) in batch.offsets.items()}
    in_step = all(starts.get(partition) == end for partition, (_, end) in former.offsets.items())
    return in_step and batch.late_before == former.watermark
