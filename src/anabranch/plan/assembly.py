"""Builds the plan from the strategy's decisions: every strategy pins the same things. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.plan.checks import checks_of
from anabranch.plan.offsets.completeness import Reading
from anabranch.plan.offsets.event_span import EventSpan
from anabranch.plan.plan import Plan, PlannedSource, PlannedTarget
from anabranch.plan.ports import SourceFacts, TargetFacts
from anabranch.plan.request import BackfillRequest, contract_hash
from anabranch.plan.slices import Ranges, Slice
from anabranch.plan.strategies.start_snapshots import StartSnapshot
from anabranch.plan.strategies.stream_start import StreamStart


def ranges_read(readings: Mapping[int, Reading]) -> Ranges:
    """The ranges of the partitions from which something is read."""
    return {number: each.ranges for number, each in readings.items() if each.ranges}


def assemble(
    request: BackfillRequest,
    code: str,
    source: SourceFacts,
    target: TargetFacts,
    *,
    base: int,
    live: Mapping[int, int],
    readings: Mapping[int, Reading],
    slices: tuple[Slice, ...],
    reading: EventSpan | None = None,
    state: StartSnapshot | None = None,
    stream: StreamStart | None = None,
) -> Plan:
    return Plan(
        pipeline=request.pipeline.metadata.name,
        contract=contract_hash(request.contract),
        code=code,
        source=PlannedSource(
            topic=source.topic,
            uuid=source.uuid,
            partitions=len(source.partitions),
            ranges=ranges_read(readings),
            live=live,
            proof={number: each.proof for number, each in readings.items() if each.of_interest},
            compacted=source.compacted,
        ),
        target=PlannedTarget(
            table=target.table,
            base=base,
            schema=target.schema,
            partitions=target.partitions,
            asked_start=request.start,
            asked_end=request.end,
            files=target.files,
            rows=target.rows,
            no_live_writer=request.no_live_writer,
        ),
        slices=slices,
        checks=checks_of(request.backfill, request.pipeline),
        strategy=request.strategy,
        reading=reading,
        state=state,
        stream=stream,
    )
