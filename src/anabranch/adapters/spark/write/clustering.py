"""How many Parquet files a task has open at a time: one, where rows are sorted by partition before they are written.

An open file holds a megabyte and more of buffers. Iceberg's default writer ("fanout") opens one for each partition that
a task meets, so a batch of 5,000 sparse hours needs several gigabytes, whatever its number of rows.
"""

from __future__ import annotations

CLUSTERED = {"fanout-enabled": "false"}
"""Write options: Spark sorts each task's rows by the table's partitioning, and one file is open at a time."""
FANOUT = {"fanout-enabled": "true"}
"""Write options: rows in any order. Only for a writer that bounds its open files by itself."""
TABLE_PROPERTY = {"write.spark.fanout.enabled": "false"}
"""The same as `CLUSTERED` as a table property: MERGE takes no write options."""
