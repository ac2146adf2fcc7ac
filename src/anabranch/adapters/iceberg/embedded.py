"""The embedded Iceberg catalog: JDBC on a SQLite file, opened by Spark and by PyIceberg (no JVM)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anabranch.adapters.iceberg.catalog import IcebergCatalog

BUSY_MILLISECONDS = 15_000
"""How long a commit waits for SQLite's single writer."""


@dataclass(frozen=True)
class EmbeddedCatalog:
    """A catalog file and a warehouse folder below the project's state folder."""

    database: Path
    warehouse: Path

    @classmethod
    def below(cls, state_folder: Path) -> EmbeddedCatalog:
        return cls(state_folder / "catalog.db", state_folder / "warehouse")

    def create(self) -> None:
        """Create the catalog's tables and the warehouse folder. Idempotent."""
        from pyiceberg.catalog.sql import SqlCatalog

        self.warehouse.mkdir(parents=True, exist_ok=True)
        settings = dict(self.catalog("lake").python)
        SqlCatalog("lake", **{**settings, "init_catalog_tables": "true"})

    def exists(self) -> bool:
        return self.database.is_file() and self.warehouse.is_dir()

    def catalog(self, name: str) -> IcebergCatalog:
        """The catalog under this name, which is stored in every row: Spark and PyIceberg must use the same one."""
        warehouse = self.warehouse.as_uri()
        seconds = BUSY_MILLISECONDS // 1000
        return IcebergCatalog(
            name,
            python={
                "type": "sql",
                "uri": f"sqlite:///{self.database}?timeout={seconds}",
                "warehouse": warehouse,
                "init_catalog_tables": "false",
            },
            spark={
                "type": "jdbc",
                "uri": f"jdbc:sqlite:file:{self.database}?busy_timeout={BUSY_MILLISECONDS}&journal_mode=WAL",
                "jdbc.schema-version": "V1",
                "warehouse": warehouse,
            },
        )
