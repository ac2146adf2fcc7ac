"""What the gates look at anew each time: whether the plan still holds, how live is, whether records can be kept."""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import urllib.request
from pathlib import Path
from uuid import uuid4

from anabranch.adapters.iceberg.facts import live_history
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.kafka.answering import require_answer
from anabranch.adapters.kafka.groups import committed
from anabranch.adapters.kafka.topics import describe_topic, offset_ranges
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.app.planning import ProjectInputs
from anabranch.app.project_context import ProjectContext
from anabranch.contract.pipeline import Pipeline
from anabranch.contract.reaching_out import find_reaching_out
from anabranch.errors import AnabranchError
from anabranch.gates.checks.observability import METRICS
from anabranch.gates.facts import ClosingReading, LiveReading, MetricsReading
from anabranch.plan.drift import Drift, Stage, drift_at
from anabranch.plan.plan import Plan
from anabranch.project.sections.metrics import MetricsSettings
from anabranch.runs.states import State

CLIENT_ID = "anabranch-gates"
METRICS_SECONDS, METRICS_BYTES = 2.0, 4 * 1024 * 1024
"""How long the metrics endpoint may take, and how much of its answer is read."""
STILL_READING = frozenset({State.PLANNED, State.REPLAYING, State.PAUSED, State.FAILED})


def look_for_drift(project_context: ProjectContext, pipeline: Pipeline, plan: Plan, state: State) -> tuple[Drift, ...]:
    """Of the plan's pins, what has changed and matters at the run's state."""
    stage = Stage.REPLAYING if state in STILL_READING else Stage.STAGED
    return drift_at(plan, ProjectInputs(project_context, pipeline, plan).now(), stage)


def look_at_live(project_context: ProjectContext, pipeline: Pipeline) -> LiveReading:
    """By the consumer group, or where that has nothing by what live's commits to the table say."""
    spec = pipeline.spec
    client = project_context.kafka.client(CLIENT_ID)
    try:
        topic = describe_topic(client, spec.source.topic)
        ends = offset_ranges(client, topic)
        position, by = committed(client, spec.consumer_group, topic.name), "group"
        if not position:
            table = IcebergTarget(project_context.catalog.open(), spec.target.table).load()
            position, by = dict(live_history(table, table.current_snapshot(), pipeline.metadata.name).ends), "table"
    except AnabranchError as refused:
        require_answer(client)  # an outage is no finding about live
        return LiveReading(None, None, refused.cause or refused.what)
    if not position:
        return LiveReading(None, None)
    return LiveReading(sum(max(0, ends[p][1] - at) for p, at in position.items() if p in ends), by)


def look_at_metrics(settings: MetricsSettings) -> MetricsReading:
    """What the configured endpoint serves now. Asks nothing where no port is configured; follows no proxy."""
    if settings.port is None:
        return MetricsReading(None)
    bind = ipaddress.ip_address(settings.bind)
    host = {4: "127.0.0.1", 6: "::1"}[bind.version] if bind.is_unspecified else settings.bind
    url = f"http://{f'[{host}]' if bind.version == 6 else host}:{settings.port}/metrics"
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=METRICS_SECONDS) as answer:
            text = answer.read(METRICS_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError) as error:  # HTTP errors and timeouts are OSError too
        return MetricsReading(url, missing=METRICS, refused=str(getattr(error, "reason", None) or error))
    served = set(re.findall(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)", text, re.MULTILINE))
    found = tuple(name for name in METRICS if name in served)
    return MetricsReading(url, found, tuple(name for name in METRICS if name not in served))


def look_at_code(folder: Path, pipeline: Pipeline) -> tuple[str, ...] | None:
    """What the transform's code may reach the outside world by; None: it can't be read."""
    try:
        return find_reaching_out(folder, pipeline)
    except (AnabranchError, OSError, ValueError):
        return None


def look_at_closing(folder: Path, store: SqlRunStore) -> ClosingReading:
    """Writes a file where the record will be, and takes it away again."""
    refused = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        trial = folder / f".gate-{uuid4().hex}"
        trial.write_text("trial\n", encoding="utf-8")
        trial.unlink()
    except OSError as error:
        refused = os.strerror(error.errno) if error.errno else str(error)
    there = next(each for each in (folder, *folder.parents) if each.exists())
    return ClosingReading(str(folder), refused, shutil.disk_usage(there).free, store.reader.verify_audit())
