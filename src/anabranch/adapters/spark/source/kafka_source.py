"""Bounded reads of a topic at explicit offsets, tuned, committing to no group."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from anabranch.adapters.spark.source.read_meter import FETCH_SETTINGS, REPORTERS, fetch_group, fetch_options
from anabranch.plan.quotas import FLOOR

TUNED = {
    # By default a consumer polls 500 records from small fetches; these settings double the rate. Larger ones only use
    # more memory: an idle consumer retains one poll and one fetch.
    "kafka.max.poll.records": "5000",
    "kafka.max.partition.fetch.bytes": str(2 << 20),
    "kafka.fetch.min.bytes": str(1 << 20),
    # History is available at once; only at the end of a topic a fetch may wait half a second for more.
    "kafka.fetch.max.wait.ms": "20",
    "kafka.fetch.max.bytes": str(64 << 20),
    "kafka.receive.buffer.bytes": str(1 << 20),
}

SAFE = {
    # The default level returns records of aborted transactions.
    "kafka.isolation.level": "read_committed",
    # Without it, records deleted by retention are skipped silently.
    "failOnDataLoss": "true",
}


POLL_SECONDS = 120
"""How long Spark waits for a record, by its own default."""
BURST_SECONDS = 10
"""What a broker may send at once of a quota, before it sends nothing for as long."""


def poll_options(settings: Mapping[str, str], partitions: int) -> dict[str, str]:
    """How long a task waits for a record: brokers that hold a client to a quota answer later.

    Twice the burst, and a fetch of every partition before its own at the lowest quota that a replay gets. A replay's
    quota may come down to that while a slice is read, so that the time does not depend on the limit at its begin.
    """
    fetches = partitions * int(settings["kafka.max.partition.fetch.bytes"]) / FLOOR
    seconds = max(POLL_SECONDS, 2 * (BURST_SECONDS + fetches))
    return {"kafkaConsumer.pollTimeoutMs": str(round(seconds * 1000))}


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
    """The records of `topic` with offsets in [start, end) of each partition.

    Both ends are numbers: Spark resolves "latest" again for every action on the same DataFrame. `assign`, unlike
    `subscribe`, continues to work when a partition is added to the topic. Quotas bind to `client_id`. Fetches are small
    enough for `bytes_per_second`; the client's meter enforces the limit.
    """
    tuned = tuned_options(options)
    settings = {
        **tuned,
        **poll_options(tuned, len(ranges)),
        **SAFE,
        **REPORTERS,
        "kafka.bootstrap.servers": bootstrap,
        "kafka.client.id": client_id,
        **rate_options(client_id, bytes_per_second, len(ranges), tuned),
        **offset_options(topic, ranges),
        "includeHeaders": "true",
    }
    return spark.read.format("kafka").options(**settings).load()


def tuned_options(options: Mapping[str, str] | None) -> dict[str, str]:
    """Ours, overridden by those of the project."""
    return {**TUNED, **{f"kafka.{key}": value for key, value in (options or {}).items()}}


def rate_options(
    client_id: str, bytes_per_second: int | None, partitions: int, tuned: Mapping[str, str]
) -> dict[str, str]:
    """The settings that depend on the limit: fetch sizes and the group.

    One group for all reads of a run with the same fetch sizes, which commit nothing: Spark keeps the consumers of a
    group for the next slice. With a new group per slice it would retain unused consumers with their fetched records.
    All fetch settings are given without a limit too: they replace those of a read that was prepared under a limit, as
    Spark refuses a group whose settings differ.
    """
    small = fetch_options(bytes_per_second, partitions)
    fetches = {key: tuned[key] for key in FETCH_SETTINGS} | small
    return {**fetches, "kafka.group.id": fetch_group(client_id, small)}


def offset_options(topic: str, ranges: Mapping[int, tuple[int, int]]) -> dict[str, str]:
    """The settings that select the records."""
    return {
        "assign": json.dumps({topic: sorted(ranges)}),
        "startingOffsets": json.dumps({topic: {str(p): start for p, (start, _) in ranges.items()}}),
        "endingOffsets": json.dumps({topic: {str(p): end for p, (_, end) in ranges.items()}}),
    }
