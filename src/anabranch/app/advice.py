"""Describes an incident from the project's cluster, catalog and files. No JVM, no change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pyiceberg.table import Table

from anabranch.adapters.iceberg.code_versions import live_code_digests
from anabranch.adapters.iceberg.facts import IcebergTables
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.app.cost import last_rehearsal
from anabranch.app.planning import plan_backfill
from anabranch.app.project_context import ProjectContext
from anabranch.app.readers import find_readers
from anabranch.contract.code import code_digest
from anabranch.contract.load import LoadedContract, load_contract
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.forecast.rehearsed import Rehearsed
from anabranch.plan.planner import Planned
from anabranch.plan.request import resolve_request
from anabranch.readiness.advise import AdviceInput, describe_incident
from anabranch.readiness.incident import Archive, Incident
from anabranch.readiness.readers import Readers


def incident_of(project_context: ProjectContext, contract: Path, given: AdviceInput, *, now: datetime) -> Incident:
    loaded = load_contract(project_context.loaded, contract)
    sources = ProjectIncident(project_context, contract, loaded, now)
    return describe_incident(sources, loaded.backfill, loaded.pipeline.pipeline, given)


@dataclass(frozen=True)
class ProjectIncident:
    """A `readiness.ports.IncidentSources`."""

    project_context: ProjectContext
    file: Path
    contract: LoadedContract
    now: datetime

    def plan(self) -> Planned:
        return plan_backfill(self.project_context, self.file, now=self.now)

    def rows(self) -> int:
        request = resolve_request(self.contract.backfill, self._pipeline, self.now)
        return IcebergTables(self.project_context.catalog.open()).measure(request).rows

    def archive(self, name: str) -> Archive:
        head = self._table(name).current_snapshot()
        totals = dict(head.summary.additional_properties) if head is not None and head.summary else {}
        return Archive(name, int(totals.get("total-records", 0)), int(totals.get("total-files-size", 0)))

    def live_codes(self) -> tuple[str, ...]:
        return live_code_digests(self._table(self._pipeline.spec.target.table), self._pipeline.metadata.name)

    def code(self) -> str:
        return code_digest(self.project_context.folder, self._pipeline)

    def readers(self) -> Readers:
        return find_readers(self.project_context, self._pipeline)

    def rehearsed(self, planned: Planned) -> Rehearsed | None:
        return last_rehearsal(self.project_context, planned, self.now)

    @property
    def _pipeline(self) -> Pipeline:
        return self.contract.pipeline.pipeline

    def _table(self, name: str) -> Table:
        return IcebergTarget(self.project_context.catalog.open(), name).load()
