"""Finds the start points of a pipeline's replay in its table, its topic and its kept checkpoints. No JVM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from anabranch.adapters.checkpoints.checkpoint_store import CheckpointStore
from anabranch.adapters.iceberg.facts import live_history, shown_axis
from anabranch.adapters.iceberg.states import states
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.iceberg.zones import IcebergZones, MapKey
from anabranch.adapters.kafka.facts import KafkaSource
from anabranch.app.project_context import ProjectContext
from anabranch.app.target_catalog import target_catalog
from anabranch.contract.code import reading_digest
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.offsets.completeness import MicrosRange
from anabranch.plan.offsets.zones import ZoneMap
from anabranch.plan.ports import SourceFacts, TimestampBounds
from anabranch.plan.strategies.start_snapshots import TableSnapshot
from anabranch.plan.strategies.stream_start import StreamCheckpoint
from anabranch.plan.target_range import TimeAxis
from anabranch.readiness.start_points import StartPoints, find_start_points


def find_checkpoints(project_context: ProjectContext, pipeline: Pipeline, before: datetime | None) -> StartPoints:
    """Raises TargetMissingError before live's first batch."""
    catalog = target_catalog(project_context, pipeline)
    return find_start_points(ProjectStartPoints(project_context, pipeline, catalog), pipeline.spec, before)


@dataclass(frozen=True)
class ProjectStartPoints:
    """A `readiness.ports.StartPointSources`."""

    project_context: ProjectContext
    pipeline: Pipeline
    catalog: Catalog

    @cached_property
    def _table(self) -> Table:
        return IcebergTarget(self.catalog, self.pipeline.spec.target.table).load()

    def snapshots(self) -> tuple[TableSnapshot, ...]:
        return states(self._table, self.pipeline.metadata.name)

    def checkpoints(self) -> tuple[StreamCheckpoint, ...]:
        return CheckpointStore.of(self.project_context.state, self.pipeline.metadata.name).all()

    def live_ends(self) -> Mapping[int, int]:
        return live_history(self._table, self._table.current_snapshot(), self.pipeline.metadata.name).ends

    def axis(self) -> TimeAxis | None:
        return shown_axis(self._table, self.pipeline.spec.event_time.field)

    def measure(self, bounds: TimestampBounds) -> SourceFacts:
        return KafkaSource(self.project_context.kafka).measure(self.pipeline.spec.source.topic, bounds)

    def zones(self, topic: str, moments: MicrosRange) -> ZoneMap:
        spec = self.pipeline.spec
        return IcebergZones(self.catalog, spec.target.table).look(MapKey(topic, reading_digest(spec)), moments)
