"""Samples of live and of the tables, from what was read of Kafka and the catalog. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from anabranch.contract.pipeline import PipelineSpec
from anabranch.monitoring import definitions as metrics
from anabranch.monitoring.samples import MetricSample, Samples

Position = Mapping[int, int]
"""The next offset of each partition."""


@dataclass(frozen=True)
class TopicReading:
    """Of the topic of one pipeline."""

    log_ends: Position
    group: Position
    """What live's consumer group has committed; empty: nothing."""


@dataclass(frozen=True)
class KafkaReading:
    at: float
    """Seconds of a clock that only grows."""
    topics: Mapping[str, TopicReading]
    """By pipeline. A pipeline whose topic could not be read is left out."""


def topic_readings(
    specs: Mapping[str, PipelineSpec], log_ends: Mapping[str, Position], groups: Mapping[str, Mapping[str, Position]]
) -> dict[str, TopicReading]:
    """By pipeline, from log ends by topic and committed offsets by group and topic."""
    return {
        name: TopicReading(log_ends[spec.source.topic], groups[spec.consumer_group].get(spec.source.topic, {}))
        for name, spec in specs.items()
        if spec.source.topic in log_ends
    }


@dataclass(frozen=True)
class TableState:
    files: int | None
    """None: the snapshot's summary has no count, or there is no snapshot yet."""
    snapshots: int
    ends: Mapping[str, Position] = field(default_factory=dict)
    """Where live's commits end, by pipeline."""
    newest_event: Mapping[str, datetime] = field(default_factory=dict)
    """Of the last commit of our own live, by pipeline."""


@dataclass(frozen=True)
class TablesReading:
    at: datetime
    tables: Mapping[str, TableState]
    """By name. A table that could not be read is left out."""


def table_samples(reading: TablesReading) -> Samples:
    for name, state in reading.tables.items():
        yield MetricSample(metrics.TABLE_FILES, state.files, (name,))
        yield MetricSample(metrics.TABLE_SNAPSHOTS, state.snapshots, (name,))
        for pipeline, newest in state.newest_event.items():
            yield MetricSample(metrics.LIVE_FRESHNESS, (reading.at - newest).total_seconds(), (pipeline,))


def live_samples(positions: Mapping[str, PositionReading], before: Mapping[str, PositionReading]) -> Samples:
    """`before` are the positions of the reading before this one."""
    for pipeline, position in positions.items():
        yield MetricSample(metrics.LIVE_LAG_RECORDS, position.lag, (pipeline,))
        former = before.get(pipeline)
        yield MetricSample(metrics.DRAIN_RATE, None if former is None else drain_rate(former, position), (pipeline,))


@dataclass(frozen=True)
class PositionReading:
    at: float
    position: Position
    log_ends: Position

    @property
    def lag(self) -> int:
        """Over the partitions of which live has a position."""
        return sum(max(0, self.log_ends[p] - offset) for p, offset in self.position.items() if p in self.log_ends)


def live_positions(kafka: KafkaReading, tables: TablesReading | None) -> dict[str, PositionReading]:
    """By pipeline: its group's position, or its commits' to the table; left out if live has neither."""
    by_commits: dict[str, Position] = {}
    for state in () if tables is None else tables.tables.values():
        by_commits |= state.ends
    found: dict[str, PositionReading] = {}
    for pipeline, topic in kafka.topics.items():
        position = topic.group or by_commits.get(pipeline)
        if position:
            found[pipeline] = PositionReading(kafka.at, position, topic.log_ends)
    return found


def drain_rate(before: PositionReading, now: PositionReading) -> float | None:
    """Offsets per second over the partitions of both; None for the same reading, or a position that was set back."""
    both = before.position.keys() & now.position.keys()
    drained = sum(now.position[p] - before.position[p] for p in both)
    return drained / (now.at - before.at) if both and now.at > before.at and drained >= 0 else None
