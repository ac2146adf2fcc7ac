"""The states that a replay of a pipeline may start from, and which is the last good one before a moment. No JVM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from anabranch.adapters.checkpoints.checkpoint_store import KeptCheckpoints
from anabranch.adapters.iceberg.facts import live_history, shown_axis
from anabranch.adapters.iceberg.states import states
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.iceberg.zones import IcebergZones, MapKey
from anabranch.adapters.kafka.facts import KafkaSource
from anabranch.app.project_context import ProjectContext
from anabranch.app.target_catalog import target_catalog
from anabranch.contract.code import reading_digest
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.offsets.completeness import moments_of, reading_of
from anabranch.plan.offsets.ranges import timestamp_bounds
from anabranch.plan.strategies.event_windows import first_touched
from anabranch.plan.strategies.start_snapshots import TableSnapshot, last_good
from anabranch.plan.strategies.stream_start import StreamCheckpoint
from anabranch.plan.target_range import EPOCH, WholeTable
from anabranch.runs.canonical import instant_text


@dataclass(frozen=True)
class Checkpoints:
    table: str
    states: tuple[TableSnapshot, ...]
    """Newest first."""
    before: datetime | None = None
    last_good: TableSnapshot | None = None
    """The newest that holds no event from `before` on; None also if nobody asked."""
    streams: tuple[StreamCheckpoint, ...] = ()
    """Of live with windows. Newest first."""
    last_good_stream: StreamCheckpoint | None = None
    """The newest that holds nothing of a window with events from `before` on."""

    def document(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "before": None if self.before is None else instant_text(self.before),
            "last_good": None if self.last_good is None else self.last_good.snapshot,
            "last_good_stream": None if self.last_good_stream is None else self.last_good_stream.name,
            "checkpoints": [
                *(self._row(each) for each in self.states),
                *(self._stream_row(each) for each in self.streams),
            ],
        }

    def _row(self, state: TableSnapshot) -> dict[str, Any]:
        return {
            "kind": "table",
            "snapshot": state.snapshot,
            "tag": state.tag,
            "offsets": _offsets(state.position),
            "event_time": state.event_time,
            "at": instant_text(state.at),
            "last_good": state == self.last_good,
        }

    def _stream_row(self, checkpoint: StreamCheckpoint) -> dict[str, Any]:
        return {
            "kind": "stream",
            "name": checkpoint.name,
            "batch": checkpoint.batch,
            "offsets": _offsets(checkpoint.position),
            "event_time": checkpoint.event_time,
            "watermark": instant_text(EPOCH + timedelta(milliseconds=checkpoint.watermark)),
            "code": checkpoint.code,
            "at": instant_text(checkpoint.at),
            "last_good": checkpoint == self.last_good_stream,
        }


def find_checkpoints(project_context: ProjectContext, pipeline: Pipeline, before: datetime | None) -> Checkpoints:
    """Every state that is kept. The topic is asked only if there is a `before` to find in it."""
    spec, name = pipeline.spec, pipeline.metadata.name
    catalog = target_catalog(project_context, pipeline)
    table = IcebergTarget(catalog, spec.target.table).load()
    found = states(table, name)
    streams = KeptCheckpoints.of(project_context.state, name).all()
    if before is None:
        return Checkpoints(spec.target.table, found, streams=streams)
    since = before if spec.window is None else first_touched(spec.window, before)
    uuid, damage = _damage(project_context, pipeline, catalog, table, since)
    good, good_stream = last_good(found, uuid, damage), last_good(streams, uuid, damage)
    return Checkpoints(spec.target.table, found, before, good, streams, good_stream)


def _damage(
    project_context: ProjectContext, pipeline: Pipeline, catalog: Catalog, table: Table, since: datetime
) -> tuple[str, dict[int, int]]:
    """The topic's id, and the first offset of each partition that may hold an event from `since` on."""
    spec, slack = pipeline.spec, pipeline.spec.event_time.slack
    live = live_history(table, table.current_snapshot(), pipeline.metadata.name).ends
    part = WholeTable(shown_axis(table, spec.event_time.field), since)
    window, moments = timestamp_bounds(part, slack, everything=False), moments_of(part)
    source = KafkaSource(project_context.kafka).measure(spec.source.topic, window)
    zones = IcebergZones(catalog, spec.target.table).look(MapKey(source.uuid, reading_digest(spec)), moments)
    damage = {}
    for number, facts in source.partitions.items():
        stands = live.get(number, 0)
        read = reading_of(facts, window, slack, stands, zones.partitions.get(number), moments).ranges
        damage[number] = min(stands, read[0][0]) if read else stands
    return source.uuid, damage


def _offsets(position: Mapping[int, int]) -> dict[str, int]:
    return {str(p): end for p, end in sorted(position.items())}
