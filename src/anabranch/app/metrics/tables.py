"""Reads the pipelines' tables from the catalog, for metrics. No JVM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from anabranch.adapters.iceberg.table_metrics import measure_table
from anabranch.app.target_catalog import was_used
from anabranch.monitoring.live_samples import TablesReading, TableState

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from anabranch.app.project_context import ProjectContext
    from anabranch.contract.pipeline import Pipeline


class TableMetrics:
    def __init__(
        self, project_context: ProjectContext, pipelines: Mapping[str, Pipeline], clock: Callable[[], datetime]
    ) -> None:
        self._project_context = project_context
        self._clock = clock
        self._catalog: Catalog | None = None
        self._tables: dict[str, Sequence[str]] = {}
        for name, pipeline in pipelines.items():
            table = pipeline.spec.target.table
            self._tables[table] = (*self._tables.get(table, ()), name)

    def read(self) -> TablesReading:
        """A table that does not exist yet is left out. Raises if the catalog does not answer."""
        found: dict[str, TableState] = {}
        if self._catalog is None and was_used(self._project_context):
            self._catalog = self._project_context.catalog.open()
        if self._catalog is not None:
            for table, pipelines in self._tables.items():
                state = measure_table(self._catalog, table, pipelines)
                if state is not None:
                    found[table] = state
        return TablesReading(self._clock().astimezone(timezone.utc), found)
