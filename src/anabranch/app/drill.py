"""Builds a readiness drill on the project's cluster, catalog and control database."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyiceberg.table import Table

from anabranch.adapters.iceberg.code_versions import live_code_digests
from anabranch.adapters.iceberg.live import LiveCommit, last_live_commit
from anabranch.adapters.iceberg.partition_stats import filled_partitions
from anabranch.adapters.iceberg.states import states
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.app.backfill import BackfillRun
from anabranch.app.planning import plan_backfill
from anabranch.app.project_context import ProjectContext
from anabranch.app.readers import find_readers
from anabranch.app.retention import audit_retention
from anabranch.contract.code import code_digest
from anabranch.contract.load import LoadedPipeline
from anabranch.plan.planner import Planned
from anabranch.plan.strategies.start_snapshots import TableSnapshot
from anabranch.plan.submission import submit
from anabranch.plan.target_range import PartitionRange
from anabranch.project.atomic_write import atomic_write
from anabranch.readiness.drill import Drill
from anabranch.readiness.readers import Readers
from anabranch.readiness.retention import TopicVerdict
from anabranch.runs.canonical import instant


def build_drill(
    project_context: ProjectContext,
    store: SqlRunStore,
    loaded: LoadedPipeline,
    take: Callable[[str], BackfillRun],
    actor: str,
) -> Drill[BackfillRun]:
    return Drill(ProjectDrill(project_context, store, loaded), store, loaded, take, actor)


@dataclass(frozen=True)
class ProjectDrill:
    """A `readiness.ports.DrillSources`."""

    project_context: ProjectContext
    store: SqlRunStore
    loaded: LoadedPipeline

    def plan(self, contract: Mapping[str, Any], now: datetime) -> Planned:
        file = self.project_context.state / "drills" / f"{self.loaded.name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(file, json.dumps(contract, indent=2) + "\n")
        return plan_backfill(self.project_context, file, now=now)

    def submit(self, planned: Planned, now: datetime, actor: str) -> str:
        return submit(self.store.writer, planned.plan, planned.request.contract, now=now, actor=actor).id

    def filled_partitions(self) -> tuple[tuple[PartitionRange, int], ...]:
        commit = self._newest
        event_time = None if commit is None else commit.event_time
        return filled_partitions(self._table, None if event_time is None else instant(event_time))

    def snapshots(self) -> tuple[TableSnapshot, ...]:
        return states(self._table, self.loaded.name)

    def live_position(self) -> Mapping[int, int]:
        commit = self._newest
        return {} if commit is None else commit.position

    def live_codes(self) -> tuple[str, ...]:
        return live_code_digests(self._table, self.loaded.name)

    def code(self) -> str:
        return code_digest(self.project_context.folder, self.loaded.pipeline)

    def readers(self) -> Readers:
        return find_readers(self.project_context, self.loaded.pipeline)

    def retention(self, now: datetime) -> TopicVerdict | None:
        topics = audit_retention(self.project_context, now=now, only=(self.loaded.pipeline.spec.source.topic,)).topics
        return topics[0] if topics else None

    @property
    def _newest(self) -> LiveCommit | None:
        return last_live_commit(self._table, self.loaded.name)

    @property
    def _table(self) -> Table:
        return IcebergTarget(self.project_context.catalog.open(), self.loaded.pipeline.spec.target.table).load()
