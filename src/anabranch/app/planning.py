"""Plans a backfill of a project, and later tells whether what it was made from is still so. No JVM, no side effect."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.adapters.checkpoints.checkpoint_store import CheckpointStore
from anabranch.adapters.iceberg.commits import ancestry
from anabranch.adapters.iceberg.facts import IcebergTables, schema_digest, shown_axis, usable_axis
from anabranch.adapters.iceberg.files import NotPartitionedByTimeError
from anabranch.adapters.iceberg.lookups import IcebergLookups
from anabranch.adapters.iceberg.refs import head_of
from anabranch.adapters.iceberg.table import TargetMissingError
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.iceberg.zones import IcebergZones, MapKey
from anabranch.adapters.kafka.answering import require_answer
from anabranch.adapters.kafka.facts import CLIENT_ID, KafkaSource
from anabranch.adapters.kafka.topics import TopicMissingError, describe_topic, offset_ranges
from anabranch.app.control import pin_control, with_control
from anabranch.app.project_context import ProjectContext
from anabranch.app.target_catalog import target_catalog
from anabranch.contract.code import code_digest, reading_digest
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
from anabranch.plan.request import BackfillRequest, resolve_request
from anabranch.plan.target_range import TimeAxis, WholeTable

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
    """The plan for the contract in this file, as the world is now. `control` asks for one if the contract does not."""
    loaded = load_contract(project_context.loaded, contract)
    request = resolve_request(with_control(loaded.backfill, wanted=control), loaded.pipeline.pipeline, now)
    ports = planning_ports(project_context, request.pipeline)
    return plan_request(request, ports, now=now, offsets_per_slice=offsets_per_slice)


def planning_ports(project_context: ProjectContext, pipeline: Pipeline) -> PlanningPorts:
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
        control=lambda request, plan: pin_control(project_context, request, plan, tables.catalog),
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
        schema, axis, base_kept = self._table()
        folder = self.project_context.folder
        return ObservedInputs(
            uuid,
            len(earliest),
            earliest,
            code_digest(folder, self.pipeline),
            schema,
            axis,
            base_kept,
            self._lookups_gone(),
            declared(self.pipeline),
            digest_files(folder, self.plan.files),
        )

    def _lookups_gone(self) -> frozenset[str]:
        if not self.plan.lookups:
            return frozenset()
        look = IcebergLookups(self.project_context.catalog.open())
        return frozenset(name for name, pin in self.plan.lookups.items() if not look.is_retained(pin))

    def _topic(self) -> tuple[str | None, dict[int, int]]:
        client = self.project_context.kafka.client(CLIENT_ID)
        try:
            topic = describe_topic(client, self.plan.source.topic)
            ends = offset_ranges(client, topic)
        except TopicMissingError:
            return None, {}
        return topic.uuid, {number: earliest for number, (earliest, _) in ends.items()}

    def _table(self) -> tuple[str | None, TimeAxis | None, bool]:
        try:
            table = IcebergTarget(self.project_context.catalog.open(), self.plan.target.table).load()
        except TargetMissingError:
            return None, None, False
        line = ancestry(table, table.current_snapshot())
        base_kept = any(head_of(snapshot.snapshot_id) == self.plan.target.base for snapshot in line)
        if isinstance(self.plan.target.partitions, WholeTable):
            return schema_digest(table), shown_axis(table, self.pipeline.spec.event_time.field), base_kept
        try:
            return schema_digest(table), usable_axis(table), base_kept
        except NotPartitionedByTimeError:
            return schema_digest(table), None, base_kept
