"""Bounded reads of a topic at explicit offsets, tuned, committing to no group."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from anabranch.adapters.spark.source.read_meter import fetch_group, fetch_options

TUNED = {
    # The stock source polls 500 records at a time from small fetches; these double what it reads. More gives nothing
    # but memory in use: a consumer that waits for its next slice keeps as much as one poll and one fetch.
    "kafka.max.poll.records": "5000",
    "kafka.max.partition.fetch.bytes": str(2 << 20),
    "kafka.fetch.min.bytes": str(1 << 20),
    # History is there at once; at the end of a topic there may be less than that, and half a second's wait for more.
    "kafka.fetch.max.wait.ms": "20",
    "kafka.fetch.max.bytes": str(64 << 20),
    "kafka.receive.buffer.bytes": str(1 << 20),
}

SAFE = {
    # The default level returns records of aborted transactions.
    "kafka.isolation.level": "read_committed",
    # Without it, records lost to retention are skipped in silence.
    "failOnDataLoss": "true",
}


def read_offsets(
    spark: SparkSession,
    *,
    bootstrap: str,
    topic: str,
    ranges: Mapping[int, tuple[int, int]],
    client_id: str,
    options: Mapping[str, str] | None = None,
    bytes_per_second: int | None = None,
) -> DataFrame:
    """The records of `topic` with offsets in [start, end) of each partition, whatever is added meanwhile.

    Both ends are numbers: Spark resolves "latest" again for every action on the same DataFrame. `assign`, unlike
    `subscribe`, goes on working when a partition is added to the topic. Quotas bind to `client_id`. Fetches are small
    enough for `bytes_per_second`; the limit itself is held by the client's meter.
    """
    given = {f"kafka.{key}": value for key, value in (options or {}).items()}
    settings = {
        **TUNED,
        **given,
        **SAFE,
        "kafka.bootstrap.servers": bootstrap,
        "kafka.client.id": client_id,
        **rate_options(client_id, bytes_per_second, len(ranges)),
        **offset_options(topic, ranges),
        "includeHeaders": "true",
    }
    return spark.read.format("kafka").options(**settings).load()


def rate_options(client_id: str, bytes_per_second: int | None, partitions: int) -> dict[str, str]:
    """What of the settings depends on the limit: sizes of fetches, and the group.

    One group for all reads of a run with the same fetch sizes, which commit nothing: Spark keeps the consumers of a
    group for the next slice. With a new group for every slice it would keep them in vain, with what they have fetched.
    """
    fetches = fetch_options(bytes_per_second, partitions)
    return {**fetches, "kafka.group.id": fetch_group(client_id, fetches)}


def offset_options(topic: str, ranges: Mapping[int, tuple[int, int]]) -> dict[str, str]:
    """What of the settings says which records are read."""
    return {
        "assign": json.dumps({topic: sorted(ranges)}),
        "startingOffsets": json.dumps({topic: {str(p): start for p, (start, _) in ranges.items()}}),
        "endingOffsets": json.dumps({topic: {str(p): end for p, (_, end) in ranges.items()}}),
    }
