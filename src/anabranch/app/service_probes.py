"""The services of a project, each with its name for people and a probe."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from anabranch.adapters.iceberg.silence import answering as catalog_answering
from anabranch.adapters.kafka.answering import answering as kafka_answering
from anabranch.app.project_context import ProjectContext
from anabranch.errors import AnabranchError
from anabranch.replay.outages import REPLAY_WAITS, Answers, Notice, Silent, words_of
from anabranch.replay.replayer import RunObserver
from anabranch.replay.service_watch import ServiceWatch
from anabranch.runs.audit import AuditRecord
from anabranch.runs.lease import Lease
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import State

SILENT, ANSWERS = "service.silent", "service.answers"
"""What the audit chain calls a service that does not answer, and one that answers again."""

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
    watch: RunObserver,
    table: str,
    client_id: str,
    cancel_jobs: Callable[[], None],
) -> ServiceWatch:
    """All three services of a replay, reported to `watch` and, while the control database answers, on record."""
    probes = service_probes(project_context, client_id, table)
    probes["Control database"] = lambda: database_answers(lease)

    def report(notice: Notice) -> None:
        watch.notice(words_of(notice, REPLAY_WAITS))
        match notice:
            case Answers(silence, at):
                _record(lease, ANSWERS, {"service": silence.service, "at": at.isoformat()})
            case Silent(silence, _, pauses_at, first) if first:
                until = None if pauses_at is None else pauses_at.isoformat()
                said = {"service": silence.service, "since": silence.since.isoformat(), "pauses_at": until}
                _record(lease, SILENT, said)

    return ServiceWatch(probes, project_context.loaded.settings.outage.pause_after, report, cancel_jobs)


def database_answers(lease: RunLease) -> bool:
    try:
        lease.reader.lease(lease.run_id)
    except AnabranchError as error:
        return error.code != "store.unreachable"  # busy or refusing is an answer
    return True


def _record(lease: RunLease, action: str, details: Mapping[str, object]) -> None:
    try:
        lease.writer.record_act(
            action, actor=lease.actor, run_id=lease.run_id, details={**details, "epoch": lease.epoch}
        )
    except AnabranchError:
        return  # the line on the terminal stands; `status` can't be asked either while the database is away


def silent_services(records: Sequence[AuditRecord], lease: Lease) -> list[dict[str, object]]:
    """The services that the process at work waits for, by the audit records of its run; none if nobody is at work."""
    if lease.holder is None:
        return []
    silent: dict[str, dict[str, object]] = {}
    for record in records:
        if record.action in (SILENT, ANSWERS):
            details = json.loads(record.details)
            silent.pop(details["service"], None)
            if record.action == SILENT and details["epoch"] == lease.epoch:
                silent[details["service"]] = details
    return list(silent.values())


def paused_by_outage(records: Sequence[AuditRecord], state: State) -> dict[str, object] | None:
    """Which service paused the run, if one did."""
    if state is not State.PAUSED:
        return None
    pauses = [json.loads(each.details) for each in records if each.to_state == State.PAUSED.value]
    last: dict[str, object] = pauses[-1] if pauses else {}
    return last if last.get("reason") == "outage" else None
