"""Counts zones on Spark: one pass over decoded records, grouped by cell of offsets and hour of event time."""

from __future__ import annotations

from dataclasses import dataclass, fields

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.topics import Topic, describe_topic
from anabranch.adapters.spark.decode.decode import BYTES, EVENT_TIME, REASON, TOMBSTONE, decode
from anabranch.adapters.spark.source.driver_reader import DriverReadError, is_timestamp_overflow, read_via_driver
from anabranch.adapters.spark.source.kafka_source import read_offsets
from anabranch.adapters.spark.source.read_meter import ReadMeter
from anabranch.contract.pipeline import PipelineSpec
from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.offsets.zone_spans import CELL, HOUR
from anabranch.plan.offsets.zones import EventGroup, Zone, zones_of
from anabranch.plan.slices import Slice

_FIELDS = tuple(field.name for field in fields(EventGroup))
KEPT = "Only the zone map was written. It contains the zones that were counted before these."


class ZoneCountError(AnabranchError):
    code = "zones.not-counted"


class ZoneTopicRecreatedError(AnabranchError):
    code = "zones.topic-recreated"
    exit_code = ExitCode.CONFLICT


def count_groups(decoded: DataFrame) -> list[EventGroup]:
    """Counts by cell and hour. An event is a good record that is no tombstone."""
    micros = F.unix_micros(F.when(F.col(REASON).isNull() & ~F.col(TOMBSTONE), F.col(EVENT_TIME)))
    records = decoded.select(
        F.col("_partition").alias("partition"),
        F.col("_offset").alias("offset"),
        micros.alias("micros"),
        F.unix_millis("_timestamp").alias("millis"),
        F.col(REASON).alias("reason"),
        F.col(BYTES).alias("bytes"),
    )
    cell, hour = F.expr(f"offset div {CELL}"), F.expr(f"micros div {HOUR}")
    counted = records.groupBy("partition", cell.alias("cell"), hour.alias("hour")).agg(
        F.min("offset").alias("first"),
        F.max("offset").alias("last"),
        F.count(F.lit(1)).alias("count"),
        F.count("reason").alias("bad"),
        F.sum("bytes").alias("bytes"),
        F.min("micros").alias("low"),
        F.max("micros").alias("high"),
        F.min("millis").alias("oldest"),
        F.max("millis").alias("newest"),
    )
    return [EventGroup(**{name: row[name] for name in _FIELDS}) for row in counted.collect()]


@dataclass(frozen=True)
class SparkZoneCounter:
    """Reads a topic for its zones. Joins no group, commits no offset."""

    spark: SparkSession
    kafka: KafkaAccess
    spec: PipelineSpec
    topic: Topic
    client_id: str

    def count(self, slice_: Slice) -> tuple[Zone, ...]:
        """The zones of exactly these offsets of this topic."""
        try:
            groups = self._groups(slice_)
        except (PySparkException, Py4JError, DriverReadError) as error:
            raise ZoneCountError(
                f"Offsets of {self.topic.name} could not be counted ({_text(slice_)}).",
                state=KEPT,
                hint="run the same command again; it continues with the offsets that no zone covers",
                topic=self.topic.name,
            ) from error
        # Checked after reading: a recreated topic never gets its former UUID.
        now = describe_topic(self.kafka.client(self.client_id), self.topic.name)
        if now.uuid != self.topic.uuid:
            raise ZoneTopicRecreatedError(
                f"{self.topic.name} was deleted and recreated while its zones were counted.",
                state=KEPT,
                hint="run the same command again: it counts the new topic",
                topic=self.topic.name,
            )
        return zones_of(slice_.offsets, groups)

    def _groups(self, slice_: Slice) -> list[EventGroup]:
        try:
            raw = read_offsets(
                self.spark,
                bootstrap=self.kafka.bootstrap,
                topic=self.topic.name,
                ranges=slice_.offsets,
                client_id=self.client_id,
                options=self.kafka.spark(),
            )
            return count_groups(decode(raw, self.spec))
        except (PySparkException, Py4JError) as error:
            if not is_timestamp_overflow(error):
                raise
        client, meter = self.kafka.client(self.client_id), ReadMeter(self.spark, self.client_id)
        raw = read_via_driver(self.spark, client, self.topic.name, slice_.offsets, meter, slice_.id)
        return count_groups(decode(raw, self.spec))


def _text(slice_: Slice) -> str:
    return ", ".join(f"partition {p}: {start} to {end - 1}" for p, (start, end) in sorted(slice_.offsets.items()))
