"""Which events a range of windows is made of, and the slices that compute it: each its windows, whole. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count, pairwise

from anabranch.contract.event_window import EventWindow
from anabranch.plan.live_position import position_unknown
from anabranch.plan.offsets.completeness import Proof, Reading, moments_of, reading_of
from anabranch.plan.offsets.event_span import EventSpan
from anabranch.plan.offsets.intervals import Intervals, common, fewer, union
from anabranch.plan.offsets.ranges import reach, timestamp_bounds
from anabranch.plan.offsets.zones import ZoneMap
from anabranch.plan.ports import SourceFacts, TargetFacts, TimestampBounds
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.request import BackfillRequest
from anabranch.plan.slices import Ranges, Slice, layers, offsets_in, share_of
from anabranch.plan.target_range import EPOCH, PartitionRange, WholeTable
from anabranch.project.quantities import format_moment

MOST_READS = 16
"""Ranges of a partition that one slice reads. Each is a read of its own, so the nearest ones are read as one."""


class WindowsOpenError(PlanRefusedError):
    code = "plan.windows-open"


def first_touched(window: EventWindow, moment: datetime) -> datetime:
    """The start of the earliest window that an event of this moment may be in."""
    if window.size is None:
        return max(EPOCH, moment - window.longest_window)
    beyond = (moment - EPOCH) % window.step
    return moment - beyond - (window.size - beyond - timedelta(microseconds=1)) // window.step * window.step


def reading(window: EventWindow | None, partitions: PartitionRange) -> EventSpan:
    """The events to read for these partitions: their own, or those that their windows are made of.

    A session begins where nothing came for a gap, so one gap before the range tells which sessions begin in it.
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
    """What to read, if live has written every window of the range for good; None for a pipeline without windows.

    A window that is still open is live's to write. What live has closed it never writes again, so nothing has to be
    caught up with.
    """
    window = request.pipeline.spec.window
    partitions = target.partitions
    if window is None or isinstance(partitions, WholeTable):
        return None
    wanted = reading(window, partitions)
    if request.no_live_writer:
        return wanted  # no window is written again: promotion is refused if one was
    if not target.live.commits:
        raise position_unknown(request, target)
    closed = None if target.live.watermark is None else EPOCH + timedelta(milliseconds=target.live.watermark)
    if closed is None or closed < wanted.end:
        stands = "no commit of live says how far it is" if closed is None else f"it has come to {format_moment(closed)}"
        until = None if closed is None else first_touched(window, max(EPOCH, closed - window.longest_window))
        raise WindowsOpenError(
            f"Live writes the windows of {target.table} up to {format_moment(partitions.end)} for good when its "
            f"watermark reaches {format_moment(wanted.end)}, and {stands}: it would write some of them again, beside "
            "the replayed ones.",
            hint="wait until `anabranch live` has come that far"
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
class Piece:
    """Some partitions of the target: what is read for their windows, and the offsets to answer for beside that."""

    first: int
    after: int
    reads: Ranges
    own: Ranges

    def __add__(self, other: Piece) -> Piece:
        return Piece(self.first, other.after, _together(self.reads, other.reads), _together(self.own, other.own))


def cut_windows(
    request: BackfillRequest,
    source: SourceFacts,
    partitions: PartitionRange,
    readings: Mapping[int, Reading],
    live: Mapping[int, int],
    zones: ZoneMap,
    offsets_per_slice: int,
    look: Callable[[TimestampBounds], SourceFacts] | None,
) -> tuple[Slice, ...]:
    """Slices by time: each reads every event of its windows, wherever that stands.

    In the ledger it answers for its share of the plan's offsets, taken in the order of the log: so each of them has one
    end, though several slices may read it. A share in several ranges becomes several slices, of which the first
    computes the windows and the others none. `look` measures the topic for a part of the range.
    """
    ranges = {number: each.ranges for number, each in readings.items() if each.ranges}
    parts = [partitions] if look is None else split(partitions, -(-offsets_in(ranges) // offsets_per_slice))
    pieces: list[Piece] = []
    reached = dict.fromkeys(ranges, 0)
    for at, part in enumerate(parts):
        span = reading(request.pipeline.spec.window, part)
        wanted = timestamp_bounds(span, request.slack, everything=False)
        facts = source if look is None else look(wanted)
        reads, own = {}, {}
        for number, planned in ranges.items():
            there, stood, known = facts.partitions[number], live.get(number), zones.partitions.get(number)
            proven = readings[number].proof in (Proof.MAP, Proof.WHOLE)
            found = reading_of(there, wanted, request.slack, stood, known, moments_of(span), whole=proven)
            reads[number] = common(planned, found.ranges)
            if proven:
                own[number] = share_of(planned, at, len(parts))
                continue
            # By timestamps pieces overlap by the slack: what one has read is no other's to answer for.
            until = planned[-1][1] if part is parts[-1] else reach(there, wanted, request.slack, stood).end
            own[number] = common(planned, union([(reached[number], until)]))
            reached[number] = max(reached[number], until)
        pieces.append(Piece(part.first, part.after, _together(reads), _together(own)))
    return tuple(_numbered(_answering(pieces)))


def _answering(pieces: Iterable[Piece]) -> list[Piece]:
    """One that would answer for nothing is joined with the one before, or the next if it is the first."""
    found: list[Piece] = []
    for slice_ in pieces:
        if found and not (slice_.own and found[-1].own):
            found[-1] += slice_
        else:
            found.append(slice_)
    return found


def _numbered(pieces: Iterable[Piece]) -> Iterator[Slice]:
    number = count()
    for slice_ in pieces:
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
