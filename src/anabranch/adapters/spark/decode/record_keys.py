"""The record's key as a column: the row that a tombstone deletes."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

NO_KEY = "no value, and a key that is not of the column's type"
OTHER_KEY = "the record's key is not the value of its column"


def with_key(decoded: DataFrame, key: str, *, reason: str, tombstone: str) -> DataFrame:
    """Tombstones get the column from the record's key. Any other record must have the same in both.

    Otherwise a tombstone could delete another row than that of its records.
    """
    column = next(field for field in decoded.schema.fields if field.name.lower() == key.lower())
    text = F.when(F.is_valid_utf8(F.col("_key").cast("string")), F.col("_key").cast("string"))
    value = F.col(f"`{column.name}`")
    # A number has one spelling: " 7", "07" and "7" would be one key in the table and three in the topic.
    read = text.try_cast(column.dataType)
    given = F.when(read.cast("string") == text, read)
    flaw = F.when(F.col(tombstone) & given.isNull(), NO_KEY).when(
        ~F.col(tombstone) & ~value.eqNullSafe(given), OTHER_KEY
    )
    judged = decoded.withColumn(reason, F.coalesce(F.col(reason), flaw))
    return judged.withColumn(column.name, F.when(F.col(tombstone), given).otherwise(value))
