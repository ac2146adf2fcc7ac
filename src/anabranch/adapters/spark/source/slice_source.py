"""Reads the records of slices from Kafka, counted by slice and held to the run's byte rate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import DataFrame, SparkSession

from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.spark.source.driver_reader import read_via_driver
from anabranch.adapters.spark.source.kafka_source import offset_options, rate_options, read_offsets, tuned_options
from anabranch.adapters.spark.source.read_meter import ReadMeter
from anabranch.plan.slices import Slice


@dataclass(frozen=True)
class KafkaSliceSource:
    spark: SparkSession
    kafka: KafkaAccess
    topic: str
    client_id: str
    control: bool = False

    @cached_property
    def meter(self) -> ReadMeter:
        """The meter of the run's client; the control's replay shares it."""
        return ReadMeter(self.spark, self.client_id)

    def limit(self, bytes_per_second: int | None) -> None:
        self.meter.limit(bytes_per_second)

    def metered_name(self, slice_: Slice) -> str:
        """The name under which the meter counts the slice; the control's slices have the same ids."""
        return f"control/{slice_.id}" if self.control else slice_.id

    def read(self, slice_: Slice) -> DataFrame:
        return self.meter.on(self.read_unmetered(slice_), self.metered_name(slice_))

    def read_unmetered(self, slice_: Slice) -> DataFrame:
        """For a query whose reader meters its records."""
        return read_offsets(
            self.spark,
            bootstrap=self.kafka.bootstrap,
            topic=self.topic,
            ranges=slice_.offsets,
            client_id=self.client_id,
            options=self.kafka.spark(),
            bytes_per_second=self.meter.rate,
        )

    def read_via_driver(self, slice_: Slice) -> DataFrame:
        client, name = self.kafka.client(self.client_id), self.metered_name(slice_)
        return read_via_driver(self.spark, client, self.topic, slice_.offsets, self.meter, name)

    def slice_options(self, slice_: Slice) -> dict[str, str]:
        """The options of a read that differ from slice to slice, at the limit as it is now."""
        return {
            **rate_options(self.client_id, self.meter.rate, len(slice_.offsets), tuned_options(self.kafka.spark())),
            **offset_options(self.topic, slice_.offsets),
        }

    def records_read(self, slice_: Slice) -> int:
        return self.meter.records(self.metered_name(slice_))

    @property
    def bytes_read(self) -> int:
        return self.meter.bytes

    @property
    def throttled_ms(self) -> float:
        return self.meter.throttled_ms

    def count_read(self, slice_: Slice, records: int, size: int) -> None:
        """Count records read outside Spark; blocks until the limit allows them."""
        self.meter.passed(self.metered_name(slice_), records, size)
