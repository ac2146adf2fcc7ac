"""Measured conditions that forbid a plan, each with an error of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta

from anabranch.plan.offsets.completeness import missing, moments_of
from anabranch.plan.offsets.ranges import MissingOffsets, earliest_start
from anabranch.plan.offsets.zones import ZoneMap
from anabranch.plan.ports import SourceFacts, TargetFacts, TimestampBounds
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.request import BackfillRequest
from anabranch.plan.target_range import EPOCH, EventSpan, PartitionRange, beginning, ordinal
from anabranch.project.keys import closest
from anabranch.project.quantities import format_moment
from anabranch.runs.heads import Head


class TargetEmptyError(PlanRefusedError):
    code = "plan.target-empty"


class SharedTargetError(PlanRefusedError):
    code = "plan.shared-target"


class ColumnUnknownError(PlanRefusedError):
    code = "plan.column-unknown"


class PartitionUnknownError(PlanRefusedError):
    code = "plan.partition-unknown"


class SomePartitionsError(PlanRefusedError):
    code = "plan.some-partitions"


class RetentionPassedError(PlanRefusedError):
    code = "plan.retention-passed"


def check_target(request: BackfillRequest, target: TargetFacts) -> Head:
    """The base snapshot. Raises if the table can't be backfilled."""
    if target.base is None:
        raise TargetEmptyError(
            f"{target.table} has no snapshot yet, so there are no rows to correct.",
            command=f"anabranch live start {request.pipeline.metadata.name}",
            hint="start live to fill the table from the topic",
            table=target.table,
        )
    if target.live.others:
        others = ", ".join(sorted(target.live.others))
        raise SharedTargetError(
            f"{target.table} is also written by {others}. Replacing its rows by those of "
            f"{request.pipeline.metadata.name} would lose them.",
            hint="give each pipeline its own table, and union them in a view",
            table=target.table,
            others=sorted(target.live.others),
        )
    known = {column.lower() for column in target.columns}
    for where, column in _named_columns(request):
        if column.lower() not in known:
            meant = closest(column, target.columns)
            raise ColumnUnknownError(
                f"{where} names column {column}, which {target.table} does not have.",
                hint=f"write {meant}" if meant else f"write one of {', '.join(target.columns)}",
                table=target.table,
                column=column,
            )
    return target.base


def _named_columns(request: BackfillRequest) -> Iterator[tuple[str, str]]:
    for column in request.backfill.spec.validation.not_null or ():
        yield "spec.validation.notNull", column
    for column in request.pipeline.spec.target.keys or ():
        yield f"target.keys of pipeline {request.pipeline.metadata.name}", column


def check_partitions(request: BackfillRequest, source: SourceFacts) -> None:
    wanted = request.backfill.spec.partitions
    if wanted is None:
        return
    existing = sorted(source.partitions)
    unknown = [number for number in wanted if number not in source.partitions]
    if unknown:
        raise PartitionUnknownError(
            f"{source.topic} has no partition {', '.join(map(str, unknown))}; its partitions are {_span(existing)}.",
            hint="remove spec.partitions: a backfill replays all partitions",
            topic=source.topic,
            unknown=unknown,
        )
    left_out = [number for number in existing if number not in wanted]
    if left_out:
        raise SomePartitionsError(
            "The replaced part of the target has rows from every partition of the topic: "
            f"the rows from partition {', '.join(map(str, left_out))} would be lost.",
            hint="remove spec.partitions, and narrow spec.range instead",
            topic=source.topic,
            left_out=left_out,
        )


def check_retention(
    request: BackfillRequest,
    source: SourceFacts,
    partitions: PartitionRange,
    window: TimestampBounds,
    live: Mapping[int, int],
    zones: ZoneMap,
    read: PartitionRange | EventSpan,
) -> None:
    gone = list(missing(source, window, request.slack, live, zones, moments_of(read)))
    if not gone:
        return
    first = gone[0]
    now = "is empty" if first.kept_from is None else f"begins at {_moment(first.kept_from)}"
    range_words = "everything" if request.everything else f"the range from {format_moment(partitions.start)}"
    raise RetentionPassedError(
        f"{source.topic} has lost offsets 0 to {first.before - 1} of partition {first.partition}, which now {now}: "
        f"records of {range_words} may be among them"
        + (f", as in {len(gone) - 1} other partitions." if len(gone) > 1 else ".")
        + " Replacing the range from the remaining records would lose rows.",
        hint=_still_possible(request, partitions, gone),
        topic=source.topic,
        missing={str(each.partition): [0, each.before] for each in gone},
        kept_from={str(each.partition): each.kept_from for each in gone},
    )


def _still_possible(request: BackfillRequest, partitions: PartitionRange, gone: list[MissingOffsets]) -> str:
    """A range that is still complete: from the first partition of the target that can be replayed whole."""
    moments = [earliest_start(each, request.slack) for each in gone]
    known = [moment for moment in moments if moment is not None]
    if len(known) < len(moments):
        return "restore the records from an archive: no range can be replayed from the topic alone"
    window, grain = request.pipeline.spec.window, partitions.axis.grain
    start = beginning(grain, ordinal(grain, max(known) + (window.before if window else timedelta())) + 1)
    if window is not None:
        start += window.longest_window  # an event is in windows that begin up to that long before it
    if request.end is not None and start >= request.end:
        return "restore the records from an archive: nothing of this range can be replayed from the topic alone"
    return f"write the range that can still be replayed, range: {{eventTime: {{from: {format_moment(start)}, to: …}}}}"


def _span(numbers: list[int]) -> str:
    return f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])


def _moment(milliseconds: int) -> str:
    return format_moment(EPOCH + timedelta(milliseconds=milliseconds))
