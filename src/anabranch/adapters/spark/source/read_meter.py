"""Counts a replay's records and limits its bytes per second within a slice. The meter is in Spark's JVM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from anabranch.adapters.spark.native.functions import function

FETCHES_PER_SECOND = 8
"""Under a limit, one round of fetches over all partitions is 1/8 of a second's bytes: a consumer holds one and has
requested the next, so the broker sends at most 1/4 of a second's bytes ahead of the reader."""
SMALLEST_FETCH, LARGEST_FETCH = 4 << 10, 2 << 20
FETCH_SETTINGS = ("kafka.max.partition.fetch.bytes", "kafka.fetch.max.bytes", "kafka.fetch.min.bytes")
REPORTERS = {"kafka.metric.reporters": "org.apache.kafka.common.metrics.JmxReporter,anabranch.ThrottleReporter"}
"""Setting of the Java consumer, whose default is the first one: how long brokers throttled it can be read then."""


@dataclass(frozen=True)
class ReadMeter:
    """The meter of one client in this session. Its limit can be changed while tasks run."""

    spark: SparkSession
    client: str

    @cached_property
    def _meter(self) -> Any:
        jvm: Any = self.spark._jvm
        return jvm.anabranch.ReadMeter.of(self.client)

    def limit(self, bytes_per_second: int | None) -> None:
        """Limit all reading from now on, slices that are being read included. None: no limit."""
        self._meter.limit(bytes_per_second or 0)

    @property
    def rate(self) -> int | None:
        """The limit in bytes per second."""
        return int(self._meter.rate()) or None

    @property
    def bytes(self) -> int:
        """Bytes of keys and values read so far."""
        return int(self._meter.bytes())

    @property
    def throttled_ms(self) -> float:
        """The longest that brokers throttled a fetch of this client within about a minute, as its consumers count it.

        0 also for consumers of executors on other machines, which are not asked.
        """
        jvm: Any = self.spark._jvm
        return float(jvm.anabranch.ThrottleReporter.longestMillis(self.client))

    def records(self, name: str) -> int:
        """Records read so far under this name; repeated reads count again."""
        return int(self._meter.records(name))

    def on(self, raw: DataFrame, name: str) -> DataFrame:
        """The records of a Kafka source, counted under this name and limited while they are read."""
        return raw.where(function("metered", self.client, name, given=(_size(),)))

    def passed(self, name: str, records: int, size: int) -> None:
        """Count records read outside Spark; blocks until the limit allows them."""
        self._meter.take(name, records, size)


def fetch_options(bytes_per_second: int | None, partitions: int) -> dict[str, str]:
    """Settings of the Java consumer for small fetches under a limit; empty without one.

    Powers of two, so that changes of the limit lead to few different settings.
    """
    if bytes_per_second is None:
        return {}
    wanted = bytes_per_second // (FETCHES_PER_SECOND * max(1, partitions))
    size = min(LARGEST_FETCH, max(SMALLEST_FETCH, 1 << max(0, wanted.bit_length() - 1)))
    return dict(zip(FETCH_SETTINGS, (str(size), str(size), "1"), strict=True))


def fetch_group(client: str, options: Mapping[str, str]) -> str:
    """The group of consumers with these fetch settings: Spark keeps consumers by group and refuses other settings."""
    size = options.get("kafka.max.partition.fetch.bytes")
    return client if size is None else f"{client}-fetch{size}"


def _size() -> Column:
    """Size of a record in the ledger: key and value."""
    length = sum((F.coalesce(F.length(name), F.lit(0)) for name in ("key", "value")), F.lit(0))
    return length.cast("bigint")
