"""Gathers what advice on a contract needs: the plan or why there is none, the code, the readers. No JVM, no change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pyiceberg.catalog import Catalog

from anabranch.adapters.iceberg.code_versions import live_code_digests
from anabranch.adapters.iceberg.facts import IcebergTables
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.app.cost import last_rehearsal
from anabranch.app.planning import plan_backfill
from anabranch.app.project_context import ProjectContext
from anabranch.app.readers import find_readers
from anabranch.contract.code import code_digest
from anabranch.contract.load import load_contract
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.live_position import LiveAheadError
from anabranch.plan.planner import Planned
from anabranch.plan.preconditions import RetentionPassedError, SharedTargetError
from anabranch.plan.request import BackfillRequest, resolve_request
from anabranch.plan.strategies.merge_forward import CompactedOrderError
from anabranch.readiness.incident import Archive, Incident, LiveCode, Rates

OBSTACLES = (RetentionPassedError, CompactedOrderError, LiveAheadError, SharedTargetError)
"""Refusals that say the topic can't be replayed. Any other is a mistake of the contract, and is told as one."""


@dataclass(frozen=True)
class AdviceInput:
    """What only people know."""

    affected: int | None
    tolerable: float
    archive: str | None


def look_at_damage(project_context: ProjectContext, contract: Path, told: AdviceInput, *, now: datetime) -> Incident:
    loaded = load_contract(project_context.loaded, contract)
    pipeline, spec = loaded.pipeline.pipeline, loaded.pipeline.pipeline.spec
    planned, obstacle = _planned(project_context, contract, now)
    tables = project_context.catalog.open()
    request = resolve_request(loaded.backfill, pipeline, now)
    budget = loaded.backfill.spec.budget
    return Incident(
        pipeline=pipeline.metadata.name,
        pipeline_class=spec.pipeline_class,
        table=spec.target.table,
        rows=_rows(tables, request) if planned is None else planned.plan.target.rows,
        affected=told.affected,
        tolerable=told.tolerable,
        obstacle=obstacle,
        records=None if planned is None else planned.outlook.offsets,
        bytes=None if planned is None else planned.outlook.bytes,
        bytes_per_second=None if budget is None else budget.bytes_per_second,
        headroom=None if planned is None else planned.outlook.headroom,
        archive=None if told.archive is None else _archive(tables, told.archive),
        live=_live_code(project_context, tables, pipeline),
        readers=find_readers(project_context, pipeline),
        rates=None if planned is None else _rates(project_context, planned, now),
    )


def _planned(project_context: ProjectContext, contract: Path, now: datetime) -> tuple[Planned | None, str | None]:
    try:
        return plan_backfill(project_context, contract, now=now), None
    except OBSTACLES as error:
        return None, error.what


def _rows(tables: Catalog, request: BackfillRequest) -> int:
    return IcebergTables(tables).measure(request).rows


def _archive(tables: Catalog, name: str) -> Archive:
    head = IcebergTarget(tables, name).load().current_snapshot()
    said = dict(head.summary.additional_properties) if head is not None and head.summary else {}
    return Archive(name, int(said.get("total-records", 0)), int(said.get("total-files-size", 0)))


def _live_code(project_context: ProjectContext, tables: Catalog, pipeline: Pipeline) -> LiveCode:
    codes = live_code_digests(IcebergTarget(tables, pipeline.spec.target.table).load(), pipeline.metadata.name)
    if not codes:
        return LiveCode.UNKNOWN
    if codes[0] != code_digest(project_context.folder, pipeline):
        return LiveCode.NOT_RESTARTED
    return LiveCode.MENDED if len(codes) > 1 else LiveCode.THE_SAME


def _rates(project_context: ProjectContext, planned: Planned, now: datetime) -> Rates | None:
    """As the last rehearsal of this contract has measured them; None: there is none that still counts."""
    found = last_rehearsal(project_context, planned, now)
    if found is None:
        return None
    return Rates(found.records_per_second, found.validate_seconds_per_million_rows, found.promote_seconds)
