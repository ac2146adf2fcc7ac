"""Collects all metrics of a project for one scrape: bounded in time, and each source read at most once in a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timezone
from threading import Lock
from typing import TYPE_CHECKING

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from anabranch import __version__
from anabranch.app.metrics.database import DatabaseMetrics
from anabranch.app.metrics.kafka import KafkaMetrics
from anabranch.app.metrics.tables import TableMetrics
from anabranch.contract.load import load_pipelines
from anabranch.monitoring import definitions as metrics
from anabranch.monitoring.definitions import Source
from anabranch.monitoring.live_samples import PositionReading, live_positions, live_samples, table_samples
from anabranch.monitoring.run_samples import run_samples
from anabranch.monitoring.samples import MetricSample, Samples, families
from anabranch.monitoring.source import CachedSource, ReadResult

if TYPE_CHECKING:
    from anabranch.app.project_context import ProjectContext

PATIENCE = 4.0
"""Seconds that a scrape waits for its sources, all together: Prometheus gives up after 10 s."""
READ_EVERY = 5.0

LiveQuarantine = Callable[[str], "int | None"]
"""Records that our own live of a pipeline has put into quarantine since it was started; None: it was never started."""


class ProjectCollector(Collector):
    """`notice` is called when a source begins to fail, fails for another reason, or answers again."""

    def __init__(
        self, project_context: ProjectContext, live_quarantine: LiveQuarantine, notice: Callable[[str], object]
    ) -> None:
        pipelines = {name: each.pipeline for name, each in load_pipelines(project_context.loaded).items()}
        self._pipelines = tuple(pipelines)
        self._live_quarantine = live_quarantine
        self._notice = notice
        database = DatabaseMetrics(project_context, _now)
        self._database = CachedSource(database.read, READ_EVERY)
        self._audit = CachedSource(database.verify_audit, READ_EVERY)
        self._kafka = CachedSource(KafkaMetrics(project_context, pipelines).read, READ_EVERY)
        self._tables = CachedSource(TableMetrics(project_context, pipelines, _now).read, READ_EVERY)
        self._positions: Mapping[str, PositionReading] = {}
        self._before: Mapping[str, PositionReading] = {}
        self._failing: dict[Source, str] = {}
        self._lock = Lock()

    def describe(self) -> Iterable[Metric]:
        """Nothing: a registry would read every source to learn the names."""
        return ()

    def collect(self) -> Iterator[Metric]:
        with self._lock:
            yield from families(self._samples())

    def _samples(self) -> Samples:
        for source in (self._database, self._audit, self._kafka, self._tables):
            source.request()
        deadline = time.monotonic() + PATIENCE
        yield MetricSample(metrics.BUILD_INFO, 1, (__version__,))
        yield from self._of_pipelines()
        runs = self._database.await_outcome(deadline - time.monotonic())
        yield self._up(Source.DATABASE, runs)
        if runs.value is not None:
            yield from run_samples(runs.value, self._pipelines)
        tables = self._tables.await_outcome(deadline - time.monotonic())
        yield self._up(Source.TABLES, tables)
        if tables.value is not None:
            yield from table_samples(tables.value)
        kafka = self._kafka.await_outcome(deadline - time.monotonic())
        yield self._up(Source.KAFKA, kafka)
        if kafka.value is not None:
            yield from self._of_live(live_positions(kafka.value, tables.value))
        chain = self._audit.await_outcome(deadline - time.monotonic())
        yield self._up(Source.AUDIT, chain)
        yield MetricSample(metrics.AUDIT_INTACT, None if chain.value is None else float(chain.value.intact))

    def _of_pipelines(self) -> Samples:
        for name in self._pipelines:
            yield MetricSample(metrics.QUARANTINED, self._live_quarantine(name), (name, "live"))

    def _of_live(self, positions: Mapping[str, PositionReading]) -> Samples:
        """A reading that is served again has the same predecessor."""
        if any(each.at != self._positions[name].at for name, each in positions.items() if name in self._positions):
            self._before = self._positions
        self._positions = positions
        return live_samples(positions, self._before)

    def _up(self, source: Source, outcome: ReadResult[object]) -> MetricSample:
        error, before = outcome.error, self._failing.get(source)
        if error is None:
            if self._failing.pop(source, None) is not None:
                self._notice(f"{source.value}: read again")
        elif error != before:
            self._failing[source] = error
            self._notice(f"{source.value}: {error}")
        return MetricSample(metrics.UP, float(error is None), (source.value,))


def _now() -> datetime:
    return datetime.now(timezone.utc)
