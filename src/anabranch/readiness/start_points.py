"""The snapshots and checkpoints that a replay may start from, and the last good one before a moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from anabranch.contract.pipeline import PipelineSpec
from anabranch.plan.offsets.completeness import moments_of, reading_of
from anabranch.plan.offsets.ranges import timestamp_bounds
from anabranch.plan.strategies.event_windows import first_touched
from anabranch.plan.strategies.start_snapshots import TableSnapshot, last_good
from anabranch.plan.strategies.stream_start import StreamCheckpoint
from anabranch.plan.target_range import EPOCH, WholeTable
from anabranch.readiness.ports import StartPointSources
from anabranch.runs.canonical import instant_text


@dataclass(frozen=True)
class StartPoints:
    table: str
    states: tuple[TableSnapshot, ...]
    """Newest first."""
    before: datetime | None = None
    last_good: TableSnapshot | None = None
    """The newest without an event from `before` on; None also without `before`."""
    streams: tuple[StreamCheckpoint, ...] = ()
    """Of live with windows. Newest first."""
    last_good_stream: StreamCheckpoint | None = None
    """The newest without a window that has events from `before` on."""

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


def find_start_points(sources: StartPointSources, spec: PipelineSpec, before: datetime | None) -> StartPoints:
    """Every stored state. The topic is read only with `before`. Changes nothing."""
    table, snapshots, checkpoints = spec.target.table, sources.snapshots(), sources.checkpoints()
    if before is None:
        return StartPoints(table, snapshots, streams=checkpoints)
    since = before if spec.window is None else first_touched(spec.window, before)
    topic, damage = _damage(sources, spec, since)
    good, good_stream = last_good(snapshots, topic, damage), last_good(checkpoints, topic, damage)
    return StartPoints(table, snapshots, before, good, checkpoints, good_stream)


def _damage(sources: StartPointSources, spec: PipelineSpec, since: datetime) -> tuple[str, dict[int, int]]:
    """The topic's id, and the first offset of each partition that may have an event from `since` on."""
    live, slack = sources.live_ends(), spec.event_time.slack
    part = WholeTable(sources.axis(), since)
    window, moments = timestamp_bounds(part, slack, everything=False), moments_of(part)
    source = sources.measure(window)
    zones = sources.zones(source.uuid, moments)
    damage = {}
    for number, facts in source.partitions.items():
        position = live.get(number, 0)
        read = reading_of(facts, window, slack, position, zones.partitions.get(number), moments).ranges
        damage[number] = min(position, read[0][0]) if read else position
    return source.uuid, damage


def _offsets(position: Mapping[int, int]) -> dict[str, int]:
    return {str(p): end for p, end in sorted(position.items())}
