"""The zone map of one pipeline: shows it, and builds missing zones from its topic. Only building needs a JVM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from anabranch.adapters.iceberg.zones import IcebergZones, MapKey, zone_table
from anabranch.adapters.kafka.topics import Topic, describe_topic, offset_ranges
from anabranch.app.project_context import ProjectContext
from anabranch.app.target_catalog import was_used
from anabranch.contract.code import reading_digest
from anabranch.contract.load import LoadedPipeline
from anabranch.plan.offsets.zone_summary import Covered, summarise
from anabranch.plan.slices import Offsets, Slice, uncounted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OFFSETS_AT_ONCE = 1_000_000
"""Counted by one job and written by one commit: at most so much is lost when a build is interrupted."""


@dataclass(frozen=True)
class PipelineZones:
    project_context: ProjectContext
    loaded: LoadedPipeline

    @property
    def client_id(self) -> str:
        return f"anabranch-zones-{self.loaded.name}"

    @cached_property
    def topic(self) -> Topic:
        return describe_topic(self.project_context.kafka.client(self.client_id), self.loaded.pipeline.spec.source.topic)

    @property
    def key(self) -> MapKey:
        return MapKey(self.topic.uuid, reading_digest(self.loaded.pipeline.spec))

    @property
    def table(self) -> str:
        return zone_table(self.loaded.pipeline.spec.target.table)

    @cached_property
    def map(self) -> IcebergZones:
        return IcebergZones(self.project_context.catalog.open(), self.loaded.pipeline.spec.target.table)

    def offsets(self) -> Offsets:
        """The readable offsets of the topic."""
        return offset_ranges(self.project_context.kafka.client(self.client_id), self.topic)

    def summary(self) -> tuple[Covered, ...]:
        """Of the map as it is. A catalog that was never used has none, and is not created by this."""
        return summarise(self.offsets(), self.map.zones(self.key) if was_used(self.project_context) else ())

    def missing(self) -> tuple[Slice, ...]:
        """The slices to count: those that no zone covers."""
        return uncounted(self.offsets(), self.map.counted(self.key), OFFSETS_AT_ONCE)

    def all(self) -> tuple[Slice, ...]:
        """Slices of every readable offset."""
        return uncounted(self.offsets(), {}, OFFSETS_AT_ONCE)

    def build(
        self, slices: tuple[Slice, ...], done: Callable[[Slice], object], spark: SparkSession | None = None
    ) -> None:
        """Count these and write their zones, slice by slice: after an interruption the next build resumes."""
        from anabranch.adapters.spark.source.zone_counter import SparkZoneCounter

        spark = spark or self.project_context.spark(self.client_id)
        kafka, spec = self.project_context.kafka, self.loaded.pipeline.spec
        counter = SparkZoneCounter(spark, kafka, spec, self.topic, self.client_id)
        for slice_ in slices:
            self.map.add(self.key, counter.count(slice_))
            done(slice_)
