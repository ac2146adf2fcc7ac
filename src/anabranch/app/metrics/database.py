"""Opens the control database for metrics."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from anabranch.adapters.sql.store import SqlRunStore, StoreAbsentError
from anabranch.app.replay_queue import budget_view
from anabranch.contract.price_book import load_price_book
from anabranch.monitoring.run_reader import RunMetricsReader
from anabranch.plan.forecast.pricing import cores_of

if TYPE_CHECKING:
    from anabranch.app.project_context import ProjectContext
    from anabranch.monitoring.run_samples import DatabaseReading
    from anabranch.runs.audit import ChainVerdict

VERIFY_EVERY = 60.0


class DatabaseMetrics:
    def __init__(self, project_context: ProjectContext, clock: Callable[[], datetime]) -> None:
        loaded = project_context.loaded
        self._project_context = project_context
        self._store: SqlRunStore | None = None
        self._verified: tuple[float, ChainVerdict] | None = None
        cores = cores_of(loaded.settings.spark, os.cpu_count() or 1)
        self._runs = RunMetricsReader(clock, lambda: load_price_book(loaded), cores)

    def read(self) -> DatabaseReading:
        """Without a database no run was ever submitted: an empty reading."""
        try:
            if self._store is None:
                self._store = self._project_context.store(create=False)
        except StoreAbsentError:
            return self._runs.empty()
        return self._runs.read(self._store.reader, budget_view(self._project_context, self._store))

    def verify_audit(self) -> ChainVerdict | None:
        """The last verdict until it is old, since a verification reads the whole chain. None: no database yet."""
        if self._verified is None or time.monotonic() - self._verified[0] >= VERIFY_EVERY:
            try:
                with self._project_context.store(create=False) as store:
                    self._verified = (time.monotonic(), store.reader.verify_audit())
            except StoreAbsentError:
                return None
        return self._verified[1]
