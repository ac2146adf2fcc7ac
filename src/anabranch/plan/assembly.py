"""Builds the plan from the strategy's decisions: every strategy pins the same things. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.offsets.completeness import Reading
from anabranch.plan.plan import Plan, PlannedSource, PlannedTarget
from anabranch.plan.ports import SourceFacts, TargetFacts
from anabranch.plan.request import BackfillRequest, contract_hash
from anabranch.plan.slices import Ranges, Slice
from anabranch.plan.strategies.start_snapshots import StartSnapshot
from anabranch.plan.strategies.stream_start import StreamStart
from anabranch.plan.target_range import EventSpan
from anabranch.runs.heads import Head


def ranges_read(readings: Mapping[int, Reading]) -> Ranges:
    """The ranges of the partitions from which something is read."""
    return {number: each.ranges for number, each in readings.items() if each.ranges}


def assemble(
    request: BackfillRequest,
    code: str,
    source: SourceFacts,
    target: TargetFacts,
    *,
    base: Head,
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
            requested_start=request.start,
            requested_end=request.end,
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


def checks_of(backfill: Backfill, pipeline: Pipeline) -> tuple[str, ...]:
    """The names of the checks that validation will run, in display order."""
    spec, keys = backfill.spec, pipeline.spec.target.keys
    names = ["every offset accounted for", "schema unchanged", "rows and sums by time"]
    if spec.control is not None:
        names.append("changes by the fix, and differences before it")
    if pipeline.spec.window is not None:
        names.append("events that live dropped as late")
    if spec.expect is not None:
        names.append(f"{spec.expect.rows} rows, within {spec.expect.tolerance * 100:.10g}%")
    if keys:
        names.append(f"unique: {', '.join(keys)}")
    if spec.validation.not_null:
        names.append(f"not null: {', '.join(spec.validation.not_null)}")
    if spec.validation.known_records is not None:
        names.append(f"known records: {spec.validation.known_records}")
    names.extend(f"query: {name}" for name in sorted(spec.validation.queries))
    return tuple(names)
