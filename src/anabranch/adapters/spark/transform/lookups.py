"""Lookup tables for a transform: at the snapshots that a plan pins, or in live at the current ones of each batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from anabranch.adapters.iceberg.catalog import IcebergCatalog
from anabranch.adapters.iceberg.lookups import IcebergLookups
from anabranch.adapters.spark.session.table_name import spark_name
from anabranch.contract.pipeline import Pipeline
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.plan.lookup_tables import LookupPin


class NoLookupError(AnabranchError):
    code = "transform.no-lookup"
    exit_code = ExitCode.USAGE


@dataclass
class LookupTables:
    """Each table at one snapshot, regardless of later commits."""

    catalog: IcebergCatalog | None = None
    pins: Mapping[str, LookupPin] = field(default_factory=dict)

    def frame(self, session: SparkSession, name: str) -> DataFrame:
        if name not in self.pins or self.catalog is None:
            known = ", ".join(sorted(self.pins)) or "none"
            raise NoLookupError(
                f"The transform uses lookup {name!r}, but the pipeline declares {known}.",
                state=NOTHING_CHANGED,
                hint=f"write lookups: {{{name}: database.table}} in the pipeline",
            )
        pin = self.pins[name]
        return session.read.option("snapshot-id", pin.snapshot).table(spark_name(self.catalog, pin.table))

    def frames(self, session: SparkSession) -> dict[str, DataFrame]:
        return {name: self.frame(session, name) for name in self.pins}

    def refresh(self) -> None:
        """Call before each batch of live. Pinned tables are unchanged."""


@dataclass
class HeadLookupTables(LookupTables):
    """For live: each table at the snapshot that is current when a batch begins, until its end."""

    tables: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, catalog: IcebergCatalog, pipeline: Pipeline) -> HeadLookupTables:
        made = cls(catalog, {}, pipeline.spec.lookups or {})
        made.refresh()
        return made

    def __post_init__(self) -> None:
        # Opened once: each catalog holds connections, and live runs for months.
        self._look = None if self.catalog is None or not self.tables else IcebergLookups(self.catalog.open())

    def refresh(self) -> None:
        if self._look is not None:
            look = self._look
            self.pins = {name: look.pin(name, table, None) for name, table in self.tables.items()}
