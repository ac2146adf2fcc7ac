"""The embedded Iceberg catalog: JDBC on a SQLite file, opened alike by Spark and, with no JVM, by PyIceberg."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog

CATALOG = "lake"
"""Both sides must agree on the name: it is written into every row of the catalog's tables."""

BUSY_MILLISECONDS = 15_000
"""How long a commit waits for another one. SQLite takes one writer at a time."""


@dataclass(frozen=True)
class EmbeddedCatalog:
    """A catalog file and a warehouse folder below the project's state folder."""

    database: Path
    warehouse: Path

    @classmethod
    def below(cls, state_folder: Path) -> EmbeddedCatalog:
        return cls(state_folder / "catalog.db", state_folder / "warehouse")

    def create(self) -> None:
        """Make the catalog's tables and the warehouse folder, once; again is no change."""
        self.warehouse.mkdir(parents=True, exist_ok=True)
        self.open().create_tables()

    def exists(self) -> bool:
        return self.database.is_file() and self.warehouse.is_dir()

    def open(self) -> SqlCatalog:
        """The catalog with no JVM."""
        from pyiceberg.catalog.sql import SqlCatalog

        return SqlCatalog(
            CATALOG,
            uri=f"sqlite:///{self.database}?timeout={BUSY_MILLISECONDS // 1000}",
            warehouse=self.warehouse.as_uri(),
            init_catalog_tables="false",
        )

    def spark_options(self) -> dict[str, str]:
        """What a Spark session needs to open the same catalog."""
        prefix = f"spark.sql.catalog.{CATALOG}"
        return {
            prefix: "org.apache.iceberg.spark.SparkCatalog",
            f"{prefix}.type": "jdbc",
            f"{prefix}.uri": f"jdbc:sqlite:file:{self.database}?busy_timeout={BUSY_MILLISECONDS}&journal_mode=WAL",
            f"{prefix}.jdbc.schema-version": "V1",
            f"{prefix}.warehouse": self.warehouse.as_uri(),
        }
