"""Observes live while a replay runs: a thread of its own looks at the log, the group, the table and the driver."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread

from anabranch.adapters.iceberg.live_commits import LiveCommits
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.kafka.offset_watch import OffsetWatch
from anabranch.adapters.kafka.topics import Topic
from anabranch.adapters.live_files import LiveFiles
from anabranch.adapters.prometheus import Prometheus
from anabranch.app.project_context import ProjectContext
from anabranch.contract.pipeline import Pipeline
from anabranch.errors import AnabranchError, text_of
from anabranch.plan.plan import PlannedSource
from anabranch.project.sections.governor import PrometheusSettings
from anabranch.replay.live_sampler import LiveSampler

CLIENT_ID = "anabranch-governor"
LOOK_SECONDS = 1.0


@dataclass
class BrokerMetrics:
    """The configured queries, asked by a thread of its own: a slow server delays no other signal."""

    settings: PrometheusSettings
    server: Prometheus
    _found: dict[str, float] = field(default_factory=dict)
    _silent: dict[str, str] = field(default_factory=dict)

    def ask(self) -> None:
        found, silent = dict[str, float](), dict[str, str]()
        for each in self.settings.queries:
            try:
                found[each.name] = each.pressure(self.server.values(each.query))
            except AnabranchError as error:
                silent[each.name] = error.what
            except Exception as error:  # the readings before it must not count as those of now
                silent[each.name] = f"Internal error: {type(error).__name__}: {text_of(error)}."
        self._found, self._silent = found, silent

    def __call__(self) -> tuple[Mapping[str, float], Mapping[str, str]]:
        return self._found, self._silent


@contextmanager
def live_monitor(
    project_context: ProjectContext, pipeline: Pipeline, source: PlannedSource, *, expected: bool = True
) -> Iterator[LiveSampler]:
    """A monitor of the pipeline's live, observing until the block ends. Its first look is made before it begins.

    A service that does not answer fails nothing here: its signals are lost until it answers.
    """
    spec, name = pipeline.spec, pipeline.metadata.name
    client = project_context.kafka.client(CLIENT_ID)
    target = IcebergTarget(project_context.catalog.open(), spec.target.table)
    metrics = _broker_metrics(project_context)
    topic = Topic(source.topic, source.uuid, tuple(range(source.partitions)))
    sampler = LiveSampler(
        OffsetWatch(client, topic, spec.consumer_group),
        LiveCommits(target.load, name),
        LiveFiles(project_context.state, name),
        expected,
        time.monotonic,
        time.time,
        metrics or (lambda: ({}, {})),
    )
    if metrics is not None:
        metrics.ask()
    sampler.sample()
    with _repeated(sampler.sample, LOOK_SECONDS, "live-monitor"):
        if metrics is None:
            yield sampler
            return
        with _repeated(metrics.ask, project_context.loaded.settings.governor.tick.total_seconds(), "broker-metrics"):
            yield sampler


def _broker_metrics(project_context: ProjectContext) -> BrokerMetrics | None:
    settings = project_context.loaded.settings.governor.prometheus
    if settings is None:
        return None
    token = None if settings.token is None else settings.token.reveal()
    return BrokerMetrics(settings, Prometheus(settings.url, token))


@contextmanager
def _repeated(act: Callable[[], object], seconds: float, name: str) -> Iterator[None]:
    """The act itself raises nothing. While it hangs, live's signals grow old and count as lost; queries time out."""
    ended = Event()

    def again() -> None:
        while not ended.wait(seconds):
            act()

    thread = Thread(target=again, daemon=True, name=name)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(timeout=10.0)
