"""Files that staging added or removed outside the range, from the table's metadata. Reads no data."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from anabranch.adapters.spark.validate.rows import named
from anabranch.adapters.spark.validate.tables import TableReader
from anabranch.plan.target_range import Grain, PartitionRange, TimeAxis
from anabranch.runs.heads import Head
from anabranch.validate.measures import SAMPLE, OutOfRangeFile, OutOfRangeFiles


def measure_strays(table: TableReader, base: Head, staged: Head) -> OutOfRangeFiles:
    partitions = table.partitions
    if not isinstance(partitions, PartitionRange):
        return OutOfRangeFiles()  # nothing is outside
    before, after = (_files(table, partitions.axis, snapshot) for snapshot in (base, staged))
    added = after.join(before, "file_path", "left_anti").withColumn("added", sf.lit(True))
    removed = before.join(after, "file_path", "left_anti").withColumn("added", sf.lit(False))
    first, last = partitions.first, partitions.after - 1
    # A file without that partition value may have any row: it counts as outside.
    outside = added.union(removed).where(~sf.coalesce(sf.col("number").between(first, last), sf.lit(False)))
    rows = outside.orderBy("file_path").limit(SAMPLE).collect()
    sample = tuple(OutOfRangeFile(row["file_path"], row["added"], row["record_count"]) for row in rows)
    return OutOfRangeFiles(outside.count() if len(sample) == SAMPLE else len(sample), sample)


def _files(table: TableReader, axis: TimeAxis, snapshot: Head) -> DataFrame:
    """Data and delete files, with the number of their partition on the time axis."""
    values = [named("partition")[field] for field in table.axis_fields(axis)]
    if axis.grain is Grain.DAY:
        values = [sf.unix_date(value) for value in values]
    number = sf.coalesce(*values, sf.lit(None).cast("int"))
    return table.at(snapshot, ".files").select("file_path", "record_count", number.alias("number"))
