"""Which events a range of windows is made of, and the slices that compute it: each its windows, whole. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from anabranch.contract.window import EventWindow
from anabranch.plan.asked import Asked
from anabranch.plan.axis import EPOCH, PartitionRange
from anabranch.plan.facts import SourceFacts, TargetFacts
from anabranch.plan.offsets import lookups, reach
from anabranch.plan.reading import Reading
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.slices import Offsets, Slice
from anabranch.project.quantities import format_moment


class WindowsOpenError(PlanRefusedError):
    code = "plan.windows-open"


def first_touched(window: EventWindow, moment: datetime) -> datetime:
    """The start of the earliest window that an event of this moment may be in."""
    if window.size is None:
        return max(EPOCH, moment - window.reach)
    beyond = (moment - EPOCH) % window.step
    return moment - beyond - (window.size - beyond - timedelta(microseconds=1)) // window.step * window.step


def reading(window: EventWindow | None, partitions: PartitionRange) -> Reading:
    """The events to read for these partitions: their own, or those that their windows are made of.

    A session begins where nothing came for a gap, so one gap before the range tells which sessions begin in it.
    """
    if window is None:
        return Reading(partitions.start, partitions.end)
    if window.size is None:
        gap = window.gap or timedelta()
        return Reading(max(EPOCH, partitions.start - gap), partitions.end + window.reach)
    start, after = (
        EPOCH - (EPOCH - moment) // window.step * window.step for moment in (partitions.start, partitions.end)
    )
    return Reading(start, max(start, after - window.step + window.size))


def require_closed(asked: Asked, target: TargetFacts) -> Reading | None:
    """What to read, if live has written every window of the range for good; None for a pipeline without windows.

    A window that is still open is live's to write. What live has closed it never writes again, so nothing has to be
    caught up with.
    """
    window = asked.pipeline.spec.window
    if window is None:
        return None
    wanted = reading(window, target.partitions)
    closed = None if target.live.watermark is None else EPOCH + timedelta(milliseconds=target.live.watermark)
    if closed is None or closed < wanted.end:
        stands = "no commit of live says how far it is" if closed is None else f"it has come to {format_moment(closed)}"
        until = None if closed is None else first_touched(window, max(EPOCH, closed - window.reach))
        raise WindowsOpenError(
            f"Live writes the windows of {target.table} up to {format_moment(target.partitions.end)} for good when its "
            f"watermark reaches {format_moment(wanted.end)}, and {stands}: it would write some of them again, beside "
            "the replayed ones.",
            next_step="wait until `anabranch live` has come that far"
            + ("" if until is None or until <= EPOCH else f", or write a range that ends by {format_moment(until)}"),
            table=target.table,
        )
    return wanted


@dataclass(frozen=True)
class Piece:
    """Some partitions of the target, and the topic as it was looked up for the events of their windows."""

    partitions: PartitionRange
    source: SourceFacts


def split(partitions: PartitionRange, count: int) -> list[PartitionRange]:
    """At most `count` runs of whole partitions, about equally long."""
    total = partitions.after - partitions.first
    cuts = sorted({partitions.first + total * number // count for number in range(count + 1)})
    return [PartitionRange(partitions.axis, first, after) for first, after in pairwise(cuts)]


def window_slices(asked: Asked, pieces: Sequence[Piece], ranges: Offsets, live: Mapping[int, int]) -> tuple[Slice, ...]:
    """A slice for each piece. It reads every event of its windows, and answers in the ledger for those offsets that
    no slice before it has read: so each offset of the plan has one end, though several slices may read it.

    A piece that would answer for nothing is joined with the one before, or the next if it is the first.
    """
    slices: list[Slice] = []
    reached = {partition: start for partition, (start, _) in ranges.items()}
    first: int | None = None
    for number, piece in enumerate(pieces):
        last = number == len(pieces) - 1
        reads = _reads(asked, piece, ranges, live, reached, last=last)
        own = {p: (reached[p], end) for p, (_, end) in reads.items() if reached[p] < end}
        first = piece.partitions.first if first is None else first
        if own:
            slices.append(Slice(f"s{len(slices):05}", own, reads, (first, piece.partitions.after)))
            first = None
        elif slices:
            former = slices.pop()
            joined = {p: (min(s, (former.reads or {}).get(p, (s, e))[0]), e) for p, (s, e) in reads.items()}
            windows = ((former.windows or (0, 0))[0], piece.partitions.after)
            slices.append(Slice(former.id, former.offsets, {**(former.reads or {}), **joined}, windows))
            first = None
        reached |= {p: end for p, (_, end) in reads.items()}
    return tuple(slices)


def _reads(
    asked: Asked,
    piece: Piece,
    ranges: Offsets,
    live: Mapping[int, int],
    reached: Mapping[int, int],
    *,
    last: bool,
) -> dict[int, tuple[int, int]]:
    """[start, end) of each partition: never back behind what was read before, and with the last piece to the end."""
    wanted = lookups(reading(asked.pipeline.spec.window, piece.partitions), asked.slack, everything=False)
    found: dict[int, tuple[int, int]] = {}
    for partition, (start, end) in ranges.items():
        near = reach(piece.source.partitions[partition], wanted, asked.slack, live.get(partition))
        until = end if last else min(end, max(near.end, reached[partition]))
        since = max(start, min(near.start, reached[partition]))
        if since < until:
            found[partition] = (since, until)
    return found
