"""The events that a range of windows needs, and slices that each compute whole windows. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count, pairwise

from anabranch.contract.event_window import EventWindow
from anabranch.plan.live_position import position_unknown
from anabranch.plan.offsets.completeness import Proof, Reading, moments_of, reading_of
from anabranch.plan.offsets.intervals import Intervals, common, fewer, union
from anabranch.plan.offsets.ranges import offsets_by_slack, timestamp_bounds
from anabranch.plan.offsets.zones import ZoneMap
from anabranch.plan.ports import SourceFacts, TargetFacts, TimestampBounds
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.request import BackfillRequest
from anabranch.plan.slices import Ranges, Slice, layers, offsets_in, share_of
from anabranch.plan.target_range import EPOCH, EventSpan, PartitionRange, WholeTable
from anabranch.project.quantities import format_moment

MOST_READS = 16
"""Maximum ranges of a partition per slice. Each is a separate read, so the closest ones are merged."""


class WindowsOpenError(PlanRefusedError):
    code = "plan.windows-open"


def first_touched(window: EventWindow, moment: datetime) -> datetime:
    """The start of the earliest window that can contain an event of this moment."""
    if window.size is None:
        return max(EPOCH, moment - window.longest_window)
    beyond = (moment - EPOCH) % window.step
    return moment - beyond - (window.size - beyond - timedelta(microseconds=1)) // window.step * window.step


def events_needed(window: EventWindow | None, partitions: PartitionRange) -> EventSpan:
    """The events to read for these partitions: their own, or those of their windows.

    A session begins after a gap without events, so one gap before the range tells which sessions begin in it.
    """
    if window is None:
        return EventSpan(partitions.start, partitions.end)
    if window.size is None:
        gap = window.gap or timedelta()
        return EventSpan(max(EPOCH, partitions.start - gap), partitions.end + window.longest_window)
    start, after = (
        EPOCH - (EPOCH - moment) // window.step * window.step for moment in (partitions.start, partitions.end)
    )
    return EventSpan(start, max(start, after - window.step + window.size))


def require_closed(request: BackfillRequest, target: TargetFacts) -> EventSpan | None:
    """The events to read; None for a pipeline without windows. Raises WindowsOpenError for a window that live may
    still write.

    Live never writes a closed window again, so no catch-up is needed.
    """
    window = request.pipeline.spec.window
    partitions = target.partitions
    if window is None or isinstance(partitions, WholeTable):
        return None
    wanted = events_needed(window, partitions)
    if request.no_live_writer:
        return wanted  # no window is written again: promotion is refused if one was
    if not target.live.commits:
        raise position_unknown(request, target)
    closed = None if target.live.watermark is None else EPOCH + timedelta(milliseconds=target.live.watermark)
    if closed is None or closed < wanted.end:
        position = "is not recorded by any commit" if closed is None else f"is at {format_moment(closed)}"
        until = None if closed is None else first_touched(window, max(EPOCH, closed - window.longest_window))
        raise WindowsOpenError(
            f"Windows of the range are still open: live closes the windows of {target.table} up to "
            f"{format_moment(partitions.end)} when its watermark reaches {format_moment(wanted.end)}, and the "
            f"watermark {position}. Live would write some of them in addition to the replayed ones.",
            hint=f"wait until live's watermark reaches {format_moment(wanted.end)}"
            + ("" if until is None or until <= EPOCH else f", or write a range that ends by {format_moment(until)}"),
            table=target.table,
        )
    return wanted


def split(partitions: PartitionRange, count: int) -> list[PartitionRange]:
    """At most `count` runs of whole partitions, about equally long."""
    total = partitions.after - partitions.first
    cuts = sorted({partitions.first + total * number // count for number in range(count + 1)})
    return [PartitionRange(partitions.axis, first, after) for first, after in pairwise(cuts)]


@dataclass(frozen=True)
class WindowSlice:
    """Some partitions of the target: what is read for their windows, and the offsets accounted to them."""

    first: int
    after: int
    reads: Ranges
    own: Ranges

    def __add__(self, other: WindowSlice) -> WindowSlice:
        return WindowSlice(self.first, other.after, _together(self.reads, other.reads), _together(self.own, other.own))


def cut_windows(
    request: BackfillRequest,
    source: SourceFacts,
    partitions: PartitionRange,
    readings: Mapping[int, Reading],
    live: Mapping[int, int],
    zones: ZoneMap,
    offsets_per_slice: int,
    measure: Callable[[TimestampBounds], SourceFacts] | None,
) -> tuple[Slice, ...]:
    """Slices by time: each reads every event of its windows, at any offset.

    The ledger accounts to each slice its share of the plan's offsets, in log order, so that every offset is accounted
    once though several slices may read it. A share of several ranges becomes several slices, of which the first
    computes the windows and the others none. `measure` measures the topic for a part of the range.
    """
    ranges = {number: each.ranges for number, each in readings.items() if each.ranges}
    parts = [partitions] if measure is None else split(partitions, -(-offsets_in(ranges) // offsets_per_slice))
    slices: list[WindowSlice] = []
    reached = dict.fromkeys(ranges, 0)
    for at, part in enumerate(parts):
        span = events_needed(request.pipeline.spec.window, part)
        wanted = timestamp_bounds(span, request.slack, everything=False)
        facts = source if measure is None else measure(wanted)
        reads, own = {}, {}
        for number, planned in ranges.items():
            there, stood, known = facts.partitions[number], live.get(number), zones.partitions.get(number)
            proven = readings[number].proof in (Proof.MAP, Proof.WHOLE)
            part_reading = reading_of(there, wanted, request.slack, stood, known, moments_of(span), whole=proven)
            reads[number] = common(planned, part_reading.ranges)
            if proven:
                own[number] = share_of(planned, at, len(parts))
                continue
            # By timestamps, slices overlap by the slack: an offset is accounted to the first slice that reads it.
            until = planned[-1][1] if part is parts[-1] else offsets_by_slack(there, wanted, request.slack, stood).end
            own[number] = common(planned, union([(reached[number], until)]))
            reached[number] = max(reached[number], until)
        slices.append(WindowSlice(part.first, part.after, _together(reads), _together(own)))
    return tuple(_numbered(_merge_empty(slices)))


def _merge_empty(slices: Iterable[WindowSlice]) -> list[WindowSlice]:
    """Merge a slice without accounted offsets into the one before, or the next if it is the first."""
    merged: list[WindowSlice] = []
    for slice_ in slices:
        if merged and not (slice_.own and merged[-1].own):
            merged[-1] += slice_
        else:
            merged.append(slice_)
    return merged


def _numbered(slices: Iterable[WindowSlice]) -> Iterator[Slice]:
    number = count()
    for slice_ in slices:
        first, *others = layers(slice_.own)
        reads = _together(slice_.reads, {p: (each,) for p, each in first.items()})
        few = {p: fewer(each, MOST_READS) for p, each in reads.items()}
        yield Slice(f"s{next(number):05}", first, few, (slice_.first, slice_.after))
        for other in others:
            yield Slice(f"s{next(number):05}", other, None, (slice_.after, slice_.after))


def _together(*ranges: Ranges) -> dict[int, Intervals]:
    numbers = sorted({number for each in ranges for number in each})
    joined = {number: union(span for each in ranges for span in each.get(number, ())) for number in numbers}
    return {number: each for number, each in joined.items() if each}
