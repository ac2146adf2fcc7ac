"""Plans a stream-faithful replay: live's batches repeated from a checkpoint before the range. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from anabranch.plan.assembly import assemble
from anabranch.plan.offsets.completeness import Proof, Reading
from anabranch.plan.offsets.intervals import union
from anabranch.plan.offsets.ranges import EndsBy
from anabranch.plan.plan import Plan
from anabranch.plan.ports import SourceFacts, TargetFacts
from anabranch.plan.request import BackfillRequest
from anabranch.plan.slices import Slice, slice_size
from anabranch.plan.strategies.live_batches import WindowedBatch
from anabranch.plan.strategies.stream_slices import WINDOWS_PER_BATCH, RangeWindows, cut_stream
from anabranch.plan.strategies.stream_start import StreamCheckpoint, StreamStart, choose_start, damage_of
from anabranch.plan.target_range import EventSpan, PartitionRange
from anabranch.runs.heads import Head


def plan_stream(
    request: BackfillRequest,
    code: str,
    source: SourceFacts,
    target: TargetFacts,
    *,
    base: Head,
    live: Mapping[int, int],
    readings: Mapping[int, Reading],
    span: EventSpan,
    checkpoints: Iterable[StreamCheckpoint],
    offsets_per_slice: int | None,
) -> tuple[Plan, dict[int, Reading]]:
    """The plan, and what is read of each partition. Raises NoStreamStartError.

    `readings` are the offsets that windows of the range need. Live dropped events after the last of these windows had
    closed, so its batches up to that one are sufficient.
    """
    start, batches = choose_start(source, target, checkpoints, damage_of(readings, live), span.end)
    read = _read(readings, start, batches)
    slices = _slices(request, target, start, batches, offsets_per_slice or slice_size(_ranges(read)))
    plan = assemble(
        request,
        code,
        source,
        target,
        base=base,
        live=live,
        readings=read,
        slices=slices,
        reading=span,
        stream=start,
    )
    return plan, read


def _read(readings: Mapping[int, Reading], start: StreamStart, batches: Sequence[WindowedBatch]) -> dict[int, Reading]:
    ends = {partition: end for partition, (_, end) in batches[-1].offsets.items()}
    return {
        number: replace(
            each,
            ranges=union([(start.position.get(number, 0), ends.get(number, 0))]),
            by=EndsBy.CLOSED,
            proof=Proof.WHOLE if start.checkpoint is None else each.proof,
        )
        for number, each in readings.items()
    }


def _ranges(read: Mapping[int, Reading]) -> dict[int, tuple[tuple[int, int], ...]]:
    return {number: each.ranges for number, each in read.items()}


def _slices(
    request: BackfillRequest, target: TargetFacts, start: StreamStart, batches: Sequence[WindowedBatch], size: int
) -> tuple[Slice, ...]:
    window, budget = request.pipeline.spec.window, request.backfill.spec.budget
    if window is None or not isinstance(target.partitions, PartitionRange):
        raise TypeError("a stream-faithful replay needs a range of windows")
    cap = WINDOWS_PER_BATCH if budget is None else budget.windows_per_batch or WINDOWS_PER_BATCH
    return cut_stream(batches, start.watermark, window, RangeWindows.of(window, target.partitions), size, cap)
