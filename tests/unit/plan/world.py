"""A contract, a pipeline, a topic and a table as plain values, for planning with nothing measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.offsets.ranges import timestamp_bounds
from anabranch.plan.offsets.zones import NO_MAP, ZoneMap
from anabranch.plan.planner import Planned, make_plan
from anabranch.plan.ports import (
    LiveHistory,
    OffsetAtTime,
    PartitionFacts,
    SourceFacts,
    TargetFacts,
    TimestampBounds,
    TopicSettings,
)
from anabranch.plan.request import BackfillRequest, resolve_request
from anabranch.plan.target_range import EPOCH, Grain, TimeAxis, everything, widen
from anabranch.project.model import Surroundings
from anabranch.project.scaffold import plan_project, write_project
from anabranch.runs.heads import Head

NOW = datetime(2025, 7, 1, tzinfo=timezone.utc)
JUNE = datetime(2025, 6, 1, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)
AXIS = TimeAxis("ordered_at", Grain.DAY)
SETTINGS = TopicSettings(frozenset({"delete"}), None, None, "CreateTime")
NO_LIVE = LiveHistory({}, 0, True, frozenset(), 0)


def milliseconds(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


@dataclass(frozen=True)
class Record:
    """An offset with its broker timestamp; a marker has one too, and is no record to a reader."""

    timestamp: int
    event: datetime | None = None
    marker: bool = False


@dataclass(frozen=True)
class Log:
    """A partition as a broker keeps it: the simplest thing that answers lookups as a broker does."""

    records: Sequence[Record]
    gone: int = 0

    def found(self, timestamp: int) -> OffsetAtTime | None:
        kept = enumerate(self.records[self.gone :], self.gone)
        return next((OffsetAtTime(at, each.timestamp) for at, each in kept if each.timestamp >= timestamp), None)

    def facts(self, request: TimestampBounds, samples: int | None = 10**9) -> PartitionFacts:
        at_end = None if request.end is None else self.found(request.end)
        after_end = None
        if at_end is not None and samples is not None:
            on = enumerate(self.records[at_end.offset :], at_end.offset)
            after_end = tuple(OffsetAtTime(at, each.timestamp) for at, each in on if not each.marker)[:samples]
        end = len(self.records)
        at_start = None if request.start is None else self.found(request.start)
        return PartitionFacts(self.gone, end, end, self.found(0), at_start, at_end, after_end, 100 * end)


def pipeline(folder: Path, **spec: Any) -> Pipeline:
    """The sample pipeline with some of its spec changed."""
    return Pipeline.model_validate(
        {
            "apiVersion": "anabranch/v1",
            "kind": "Pipeline",
            "metadata": {"name": "orders"},
            "spec": {
                "class": "stateless",
                "owner": "shop",
                "source": {"topic": "shop.orders", "schema": {"order_id": "string", "ordered_at": "timestamp"}},
                "eventTime": {"field": "ordered_at", "slack": "1h"},
                "transform": {"python": "transforms.orders:transform"},
                "target": {"table": "shop.orders", "keys": ["order_id"]},
                "consumerGroup": "shop-orders",
                **spec,
            },
        },
        context=Surroundings(folder),
    )


def contract(folder: Path, **spec: Any) -> Backfill:
    return Backfill.model_validate(
        {
            "apiVersion": "anabranch/v1",
            "kind": "Backfill",
            "metadata": {"name": "fix"},
            "spec": {
                "pipeline": "orders",
                "reason": "wrong",
                "owner": "shop",
                "range": {"eventTime": {"from": "2025-06-01T00:00:00Z", "to": "2025-06-03T00:00:00Z"}},
                "rollback": {"authority": "oncall"},
                **spec,
            },
        },
        context=Surroundings(folder),
    )


@dataclass(frozen=True)
class World:
    """Everything planning asks for, with a way to change one thing."""

    folder: Path

    @classmethod
    def below(cls, folder: Path) -> World:
        write_project(plan_project(folder, "shop"))
        return cls(folder)

    def request(self, *, now: datetime = NOW, pipe: Mapping[str, Any] | None = None, **spec: Any) -> BackfillRequest:
        return resolve_request(contract(self.folder, **spec), pipeline(self.folder, **(pipe or {})), now)

    def target(self, request: BackfillRequest, **changes: Any) -> TargetFacts:
        partitions = everything(AXIS)
        if request.start is not None and request.end is not None:
            partitions = widen(AXIS, request.start, request.end)
        facts: dict[str, Any] = {
            "table": "shop.orders",
            "base": Head("7"),
            "schema": "s1",
            "columns": ("order_id", "ordered_at"),
            "partitions": partitions,
            "files": 2,
            "rows": 48,
            "live": NO_LIVE,
        }
        return TargetFacts(**{**facts, **changes})

    def source(self, request: BackfillRequest, logs: Sequence[Log], target: TargetFacts, **changes: Any) -> SourceFacts:
        window = timestamp_bounds(target.partitions, request.slack, everything=request.everything)
        facts: dict[str, Any] = {
            "topic": "shop.orders",
            "uuid": "u1",
            "partitions": {number: log.facts(window) for number, log in enumerate(logs)},
            "settings": SETTINGS,
            "transactional": None,
        }
        return SourceFacts(**{**facts, **changes})

    def plan(
        self,
        logs: Sequence[Log],
        *,
        target: Mapping[str, Any] | None = None,
        source: Mapping[str, Any] | None = None,
        code: str = "c1",
        now: datetime = NOW,
        zones: ZoneMap = NO_MAP,
        **spec: Any,
    ) -> Planned:
        """Unless told otherwise, live has written everything there is."""
        request = self.request(now=now, **spec)
        at_the_end = LiveHistory({n: len(log.records) for n, log in enumerate(logs)}, 1, True, frozenset(), 0)
        stands = NO_LIVE if request.no_live_writer else at_the_end
        table = self.target(request, **{"live": stands, **(target or {})})
        return make_plan(
            request, code, self.source(request, logs, table, **(source or {})), table, now=now, zones=zones
        )


def hourly(days: int, start: datetime = JUNE - timedelta(days=5)) -> Log:
    """One event an hour, in order, each recorded when it happened."""
    moments = [start + n * HOUR for n in range(24 * days)]
    return Log([Record(milliseconds(moment), moment) for moment in moments])
