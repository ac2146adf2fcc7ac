"""Limits the open Parquet files of a task to one, by sorting rows by partition before they are written.

An open file has at least 1 MB of buffers. Iceberg's default writer ("fanout") opens one per partition of a task, so a
batch of 5,000 sparse hours needs several gigabytes, even with few rows.
"""

from __future__ import annotations

CLUSTERED = {"fanout-enabled": "false"}
"""Write options: Spark sorts each task's rows by the table's partitioning, and one file is open at a time."""
FANOUT = {"fanout-enabled": "true"}
"""Write options: rows in any order. Only for a writer that bounds its open files."""
TABLE_PROPERTY = {"write.spark.fanout.enabled": "false"}
"""The same as `CLUSTERED` as a table property: MERGE takes no write options."""
