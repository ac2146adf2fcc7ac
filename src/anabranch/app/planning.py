"""Plans a backfill of a project, and later observes whether its inputs have changed. No JVM, no side effect."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.adapters.checkpoints.checkpoint_store import CheckpointStore
from anabranch.adapters.iceberg.code_versions import code_versions
from anabranch.adapters.iceberg.facts import IcebergTables, observe_target
from anabranch.adapters.iceberg.lookups import IcebergLookups
from anabranch.adapters.iceberg.zones import IcebergZones, MapKey
from anabranch.adapters.kafka.answering import require_answer
from anabranch.adapters.kafka.facts import CLIENT_ID, KafkaSource
from anabranch.adapters.kafka.retention import KafkaRetention
from anabranch.adapters.kafka.topics import TopicMissingError, describe_topic, offset_ranges
from anabranch.app.project_context import ProjectContext
from anabranch.app.retention_race import planned_rate_of
from anabranch.app.target_catalog import target_catalog
from anabranch.contract.code import code_digest, reading_digest
from anabranch.contract.code_store import CodeStore
from anabranch.contract.load import load_contract
from anabranch.contract.pins import declared, digest_files
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.backfill import PlanningPorts, plan_request
from anabranch.plan.drift import ObservedInputs
from anabranch.plan.offsets.completeness import MicrosRange
from anabranch.plan.offsets.zones import ZoneMap
from anabranch.plan.plan import Plan
from anabranch.plan.planner import Planned
from anabranch.plan.ports import SourceFacts, TargetFacts
from anabranch.plan.request import BackfillRequest, resolve_request, with_control

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog


def plan_backfill(
    project_context: ProjectContext,
    contract: Path,
    *,
    now: datetime,
    offsets_per_slice: int | None = None,
    control: bool = False,
) -> Planned:
    """The plan for the contract in this file, now. `control` adds a control if the contract has none."""
    loaded = load_contract(project_context.loaded, contract)
    request = resolve_request(with_control(loaded.backfill, wanted=control), loaded.pipeline.pipeline, now)
    ports = planning_ports(project_context, request.pipeline, now)
    return plan_request(request, ports, now=now, offsets_per_slice=offsets_per_slice)


def planning_ports(project_context: ProjectContext, pipeline: Pipeline, now: datetime) -> PlanningPorts:
    tables = _Tables(project_context, pipeline)

    def zones(request: BackfillRequest, source: SourceFacts, moments: MicrosRange) -> ZoneMap:
        key = MapKey(source.uuid, reading_digest(request.pipeline.spec))
        return IcebergZones(tables.catalog, pipeline.spec.target.table).look(key, moments)

    return PlanningPorts(
        project_context.folder,
        require_source=lambda: require_answer(project_context.kafka.client(CLIENT_ID)),
        source=KafkaSource(project_context.kafka),
        target=tables,
        zones=zones,
        lookups=lambda: IcebergLookups(tables.catalog),
        checkpoints=lambda: CheckpointStore.of(project_context.state, pipeline.metadata.name).all(),
        codes=CodeStore.below(project_context.state, pipeline.metadata.name),
        code_versions=lambda plan: code_versions(tables.catalog.load_table(plan.target.table), plan),
        retention=lambda plan: KafkaRetention(project_context.kafka, CLIENT_ID, plan.source.topic),
        rate=lambda planned: planned_rate_of(project_context, planned, now),
    )


@dataclass(frozen=True)
class _Tables:
    """The tables of the pipeline's catalog, which is opened when it is first looked at."""

    project_context: ProjectContext
    pipeline: Pipeline

    @cached_property
    def catalog(self) -> Catalog:
        return target_catalog(self.project_context, self.pipeline)

    def measure(self, request: BackfillRequest) -> TargetFacts:
        return IcebergTables(self.catalog).measure(request)


@dataclass(frozen=True)
class ProjectInputs:
    """What a plan has pinned, as it is now."""

    project_context: ProjectContext
    pipeline: Pipeline
    plan: Plan

    def now(self) -> ObservedInputs:
        uuid, earliest = self._topic()
        catalog = self.project_context.catalog.open()
        schema, axis, base_kept = observe_target(catalog, self.plan.target, self.pipeline.spec.event_time.field)
        folder = self.project_context.folder
        return ObservedInputs(
            uuid,
            len(earliest),
            earliest,
            code_digest(folder, self.pipeline),
            schema,
            axis,
            base_kept,
            IcebergLookups(catalog).gone(self.plan.lookups),
            declared(self.pipeline),
            digest_files(folder, self.plan.files),
        )

    def _topic(self) -> tuple[str | None, dict[int, int]]:
        client = self.project_context.kafka.client(CLIENT_ID)
        try:
            topic = describe_topic(client, self.plan.source.topic)
            ends = offset_ranges(client, topic)
        except TopicMissingError:
            return None, {}
        return topic.uuid, {number: earliest for number, (earliest, _) in ends.items()}
