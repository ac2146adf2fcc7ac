"""The services of a project, each with its name for people and a probe, and the watch over those of a replay."""

from __future__ import annotations

from collections.abc import Callable

from anabranch.adapters.iceberg.silence import answering as catalog_answering
from anabranch.adapters.kafka.answering import answering as kafka_answering
from anabranch.app.project_context import ProjectContext
from anabranch.replay.replayer import RunObserver
from anabranch.replay.service_reports import database_answers, service_report
from anabranch.replay.service_watch import ServiceWatch
from anabranch.runs.run_lease import RunLease

Probes = dict[str, Callable[[], bool]]


def service_probes(project_context: ProjectContext, client_id: str, table: str) -> Probes:
    """Kafka and the catalog."""
    kafka, catalog = project_context.kafka, project_context.catalog
    return {
        f"Kafka at {kafka.bootstrap}": kafka_answering(kafka.client(client_id)),
        f"Catalog {catalog.name}": catalog_answering(catalog, table.rpartition(".")[0]),
    }


def replay_services(
    project_context: ProjectContext,
    lease: RunLease,
    observer: RunObserver,
    table: str,
    client_id: str,
    cancel_jobs: Callable[[], None],
) -> ServiceWatch:
    """All three services of a replay, reported to `observer` and, while the control database answers, on record."""
    probes = service_probes(project_context, client_id, table)
    probes["Control database"] = lambda: database_answers(lease)
    limit = project_context.loaded.settings.outage.pause_after
    return ServiceWatch(probes, limit, service_report(lease, observer.notice), cancel_jobs)
