"""Gathers what advice on a contract is given from: the plan or the obstacle to it, live's code, the readers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.forecast.rehearsed import Rehearsed
from anabranch.plan.live_position import LiveAheadError
from anabranch.plan.planner import Planned
from anabranch.plan.preconditions import RetentionPassedError, SharedTargetError
from anabranch.plan.strategies.merge_forward import CompactedOrderError
from anabranch.readiness.incident import Incident, LiveCode, Rates
from anabranch.readiness.ports import IncidentSources

OBSTACLES = (RetentionPassedError, CompactedOrderError, LiveAheadError, SharedTargetError)
"""Refusals that mean the topic can't be replayed. Any other is an error in the contract, and is raised as one."""


@dataclass(frozen=True)
class AdviceInput:
    """What only people know."""

    affected: int | None
    tolerable: float
    archive: str | None


def describe_incident(sources: IncidentSources, backfill: Backfill, pipeline: Pipeline, given: AdviceInput) -> Incident:
    """Raises every refusal of the plan but those of `OBSTACLES`. Changes nothing."""
    planned, obstacle = _planned(sources)
    spec = pipeline.spec
    return Incident(
        pipeline=pipeline.metadata.name,
        pipeline_class=spec.pipeline_class,
        table=spec.target.table,
        rows=sources.rows() if planned is None else planned.plan.target.rows,
        affected=given.affected,
        tolerable=given.tolerable,
        obstacle=obstacle,
        records=None if planned is None else planned.estimates.offsets,
        bytes=None if planned is None else planned.estimates.bytes,
        bytes_per_second=backfill.spec.byte_rate,
        headroom=None if planned is None else planned.estimates.headroom,
        archive=None if given.archive is None else sources.archive(given.archive),
        live=live_code(sources.live_codes(), sources.code()),
        readers=sources.readers(),
        rates=None if planned is None else rates_of(sources.rehearsed(planned)),
    )


def live_code(written_by: Sequence[str], on_disk: str) -> LiveCode:
    """`written_by` are the codes of the table's live commits, each once, the newest first."""
    if not written_by:
        return LiveCode.UNKNOWN
    if written_by[0] != on_disk:
        return LiveCode.NOT_RESTARTED
    return LiveCode.FIXED if len(written_by) > 1 else LiveCode.THE_SAME


def rates_of(rehearsed: Rehearsed | None) -> Rates | None:
    """None: no rehearsal of this contract is valid."""
    if rehearsed is None:
        return None
    return Rates(rehearsed.records_per_second, rehearsed.validate_seconds_per_million_rows, rehearsed.promote_seconds)


def _planned(sources: IncidentSources) -> tuple[Planned | None, str | None]:
    try:
        return sources.plan(), None
    except OBSTACLES as error:
        return None, error.what
