"""Observes for the gates: the plan's inputs, live's position, the disk, the metrics endpoint, the transform's code."""

from __future__ import annotations

import os
import shutil
import urllib.request
from dataclasses import dataclass
from uuid import uuid4

from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.kafka.answering import require_answer
from anabranch.adapters.kafka.retention import KafkaRetention
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.app.live_position import ProjectLivePosition
from anabranch.app.planning import ProjectInputs
from anabranch.app.project_context import ProjectContext
from anabranch.app.quotas import quota_forecast
from anabranch.app.retention_race import withheld
from anabranch.contract.pipeline import Pipeline
from anabranch.contract.reaching_out import find_reaching_out
from anabranch.errors import AnabranchError
from anabranch.gates.checks.observability import METRICS
from anabranch.gates.facts import ClosingReading, LiveReading, MetricsReading, RetentionReading, read_live, read_metrics
from anabranch.plan.drift import ObservedInputs
from anabranch.plan.plan import Plan
from anabranch.plan.quotas import QuotaForecast
from anabranch.project.sections.metrics import metrics_url
from anabranch.replay.retention_reading import read_retention

CLIENT_ID = "anabranch-gates"
RESIDENCY = "residency"
"""The property of a table that declares where its data must stay."""
METRICS_SECONDS, METRICS_BYTES = 5.0, 4 * 1024 * 1024
"""How long the metrics endpoint may take, and how much of its answer is read."""


@dataclass(frozen=True)
class ProjectObserver:
    """A `gates.ports.GateObserver`."""

    project_context: ProjectContext
    store: SqlRunStore
    plan: Plan
    pipeline: Pipeline
    run: str | None = None
    """None: there is only a contract yet."""

    def require_answer(self) -> None:
        require_answer(self.project_context.kafka.client(CLIENT_ID))

    def inputs(self) -> ObservedInputs:
        return ProjectInputs(self.project_context, self.pipeline, self.plan).now()

    def live(self) -> LiveReading:
        try:
            live = ProjectLivePosition.of(self.project_context, self.pipeline, CLIENT_ID)
            return read_live(live.log_ends(), live.of_group, live.of_table)
        except AnabranchError as refused:
            self.require_answer()  # an outage is no finding about live
            return LiveReading(None, None, refused.cause or refused.what)

    def retention(self) -> RetentionReading | None:
        observer = KafkaRetention(self.project_context.kafka, CLIENT_ID, self.plan.source.topic)
        return read_retention(
            self.store.reader,
            self.plan,
            self.run,
            observer,
            lambda: withheld(self.project_context, self.store.reader, self.plan, self.run),
        )

    def closing(self) -> ClosingReading:
        folder, refused = self.project_context.state / "runs", None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            trial = folder / f".gate-{uuid4().hex}"
            trial.write_text("trial\n", encoding="utf-8")
            trial.unlink()
        except OSError as error:
            refused = os.strerror(error.errno) if error.errno else str(error)
        existing = next(each for each in (folder, *folder.parents) if each.exists())
        return ClosingReading(str(folder), refused, shutil.disk_usage(existing).free, self.store.reader.verify_audit())

    def residency(self) -> str | None:
        table = IcebergTarget(self.project_context.catalog.open(), self.plan.target.table).load()
        return table.properties.get(RESIDENCY)

    def metrics(self) -> MetricsReading:
        """Sends nothing where no port is configured; follows no proxy."""
        settings = self.project_context.loaded.settings.metrics
        if settings.port is None:
            return MetricsReading(None)
        url = metrics_url(settings.bind, settings.port)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(url, timeout=METRICS_SECONDS) as answer:
                text = answer.read(METRICS_BYTES).decode("utf-8", "replace")
                return read_metrics(url, text, METRICS, self.plan.pipeline)
        except (OSError, ValueError) as error:  # HTTP errors and timeouts are OSError too
            return MetricsReading(url, missing=METRICS, refused=str(getattr(error, "reason", None) or error))

    def quota(self, bytes_per_second: int | None) -> QuotaForecast:
        return quota_forecast(self.project_context, self.plan, bytes_per_second)

    def reaches(self) -> tuple[str, ...] | None:
        try:
            return find_reaching_out(self.project_context.folder, self.pipeline)
        except (AnabranchError, OSError, ValueError):
            return None
