"""The streaming query: reads the topic in batches, tuned for latency, and passes them to the writer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

from anabranch.adapters.iceberg.live import LiveCommit
from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.topics import Topic
from anabranch.adapters.spark.source.kafka_source import SAFE, TUNED
from anabranch.live.pace import LivePace, client_id

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

EARLIEST = -2
"""Kafka's code for the beginning of a partition."""


def starting_offsets(topic: Topic, last: LiveCommit | None) -> str:
    """Starting offsets of a query without a checkpoint: live's position by the table, or the beginning."""
    if last is None or last.topic != topic.uuid:
        return "earliest"
    return json.dumps({topic.name: {str(p): last.position.get(p, EARLIEST) for p in topic.partitions}})


def start_query(
    spark: SparkSession,
    kafka: KafkaAccess,
    name: str,
    topic: Topic,
    starting: str,
    checkpoint: Path,
    pace: LivePace,
    write: Callable[[DataFrame, int], None],
    shape: Callable[[DataFrame], DataFrame] = lambda records: records,
) -> StreamingQuery:
    """Start the query. `starting` applies only to a new checkpoint.

    `shape` is the stateful part of the stream; the writer gets its output. The query uses `subscribe`, so partitions
    added to the topic are read too, each from its beginning.
    """
    settings = {
        **TUNED,
        # A batch ends at an existing offset; waiting for a full fetch would add half a second.
        "kafka.fetch.min.bytes": "1",
        **{f"kafka.{key}": value for key, value in kafka.spark().items()},
        **SAFE,
        "kafka.bootstrap.servers": kafka.bootstrap,
        "kafka.client.id": client_id(name),
        "groupIdPrefix": client_id(name),
        "subscribe": topic.name,
        "startingOffsets": starting,
        "maxOffsetsPerTrigger": str(pace.max_offsets),
        "includeHeaders": "true",
    }
    return (
        shape(spark.readStream.format("kafka").options(**settings).load())
        .writeStream.queryName(client_id(name))
        .option("checkpointLocation", checkpoint.as_uri())
        .trigger(processingTime=f"{round(pace.interval_seconds * 1000)} milliseconds")
        .foreachBatch(write)
        .start()
    )
