"""The run's records in the quarantine table beside the target."""

from __future__ import annotations

from pyspark.sql import functions as sf

from anabranch.adapters.spark.validate.rows import sample
from anabranch.adapters.spark.validate.tables import TableReader
from anabranch.validate.measures import SAMPLE, Quarantined

SUFFIX = "__quarantine"
_SHOWN = ("slice", "topic", "partition", "offset", "timestamp", "reason")


def measure_quarantined(table: TableReader, run: str | None) -> Quarantined:
    """Coordinates and reasons only: a bad record may contain secrets."""
    name = f"{table.name[:-1]}{SUFFIX}`"
    if run is None or not table.session.catalog.tableExists(name):
        return Quarantined()
    records = table.session.table(name).where(sf.col("run") == sf.lit(run))
    shown = records.select(*_SHOWN).orderBy("partition", "offset")
    # Counted by coordinates: a record that was quarantined twice counts once.
    return Quarantined(records.select("topic", "partition", "offset").distinct().count(), sample(shown, SAMPLE))
