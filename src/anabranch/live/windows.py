"""Live with event-time windows: the stream holds the state, and a batch writes the windows that it closed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from anabranch.adapters.checkpoints.log import batch_watermarks
from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.facts import usable_axis
from anabranch.adapters.iceberg.live import LiveCommit, live_commit_id
from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.topics import Topic
from anabranch.adapters.spark.decode.decode import REASON, bad_of, decode
from anabranch.adapters.spark.source.kafka_source import read_offsets
from anabranch.adapters.spark.source.streaming import declared_window, streamed_rows
from anabranch.adapters.spark.source.zone_counter import count_groups
from anabranch.adapters.spark.transform.output_rows import WINDOW
from anabranch.adapters.spark.windows.windows import is_late, require_windows
from anabranch.adapters.spark.write.quarantine import Batch
from anabranch.adapters.spark.write.target_table import spark_name
from anabranch.crashpoints import reach
from anabranch.live.batch import BatchCounts, BatchWriter, batch_counts
from anabranch.live.errors import CONTINUES, StateLostError
from anabranch.live.pace import client_id
from anabranch.live.writing import append
from anabranch.plan.offsets.zones import EventGroup, zones_of
from anabranch.plan.slices import Offsets
from anabranch.plan.strategies.live_batches import window_text


def require_state(pipeline: str, checkpoint: Path, topic: Topic, last: LiveCommit | None) -> None:
    """Raise StateLostError if live wrote windows before and its checkpoint is missing: open windows would lose
    events."""
    if last is None or last.topic != topic.uuid or (checkpoint / "metadata").is_file():
        return
    raise StateLostError(
        f"Checkpoint {checkpoint} of live {pipeline} is missing. It holds the state of open windows, which cannot be "
        "completed from the table.",
        state=CONTINUES,
        hint=f"Restore {checkpoint} from a backup, or start live with another target table",
        checkpoint=str(checkpoint),
    )


@dataclass
class LiveWindowWriter(BatchWriter):
    """Writes the windows that a batch closed.

    The stream yields rows instead of records, so the batch's records are read again by their offsets, to quarantine bad
    ones and to count late ones. Spark's own count of late rows is made after partial aggregation and is not a count of
    events.
    """

    kafka: KafkaAccess = field(kw_only=True)
    keep_checkpoint: Callable[[int, str | None], object] = field(default=lambda _batch, _newest: None, kw_only=True)
    """Called with the last committed batch and the newest event by then. Must not raise, because live must continue."""

    def shape(self, records: DataFrame) -> DataFrame:
        return streamed_rows(records, self.pipeline.spec, self.transform, self.columns)

    def _run(self, batch: DataFrame, number: int) -> None:
        # At this point Spark has committed the previous batch and this one has not begun.
        if number:
            self.keep_checkpoint(number - 1, self._newest)
        super()._run(batch, number)

    def _run_again(self, batch: DataFrame) -> None:
        """Run the batch without writing rows: they are in the table, but its state may not be in the checkpoint."""
        batch.write.format("noop").mode("append").save()

    def _write(self, batch: DataFrame, query: str, number: int, offsets: Offsets) -> tuple[BatchCounts, int]:
        commit = live_commit_id(query, number)
        new = {partition: (start, end) for partition, (start, end) in offsets.items() if start < end}
        counts, groups = self._quarantine_and_count(batch, commit, query, number, new)
        window = declared_window(self.pipeline.spec)
        axis = usable_axis(self._tables.load_table(self.pipeline.spec.target.table)).column
        rows = batch.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            with self.transform.attribute_transform_errors():
                require_windows(rows, window, axis, CONTINUES)
            reach("live.commit.before")
            properties = self._properties(commit, query, number, offsets, counts)
            with self.transform.attribute_transform_errors():
                append(rows.drop(*WINDOW), self._name, commit, properties, self._is_last)
            reach("live.commit.after")
        finally:
            rows.unpersist()
        self.keep_zones(zones_of(new, groups))
        last = self._last_commit()
        return counts, last.rows if last is not None and last.id == commit else 0

    def _quarantine_and_count(
        self, batch: DataFrame, commit: str, query: str, number: int, ranges: Offsets
    ) -> tuple[BatchCounts, list[EventGroup]]:
        if not ranges:
            return batch_counts(()), []  # a batch without records only closes windows
        raw = read_offsets(
            batch.sparkSession,
            bootstrap=self.kafka.bootstrap,
            topic=self.pipeline.spec.source.topic,
            ranges=ranges,
            client_id=client_id(self.pipeline.metadata.name),
            options=self.kafka.spark(),
        )
        late_before = batch_watermarks(self.checkpoint, number).late_before
        decoded = decode(raw, self.pipeline.spec).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            groups = count_groups(decoded)
            late = F.col(REASON).isNull() & is_late(declared_window(self.pipeline.spec), late_before)
            counts = batch_counts(groups, decoded.where(late).count())
            self.still_same_topic()
            reach("live.quarantine.before")
            quarantine_batch = Batch(commit, commit, None, live_commit_id(query, 0).removesuffix("0"))
            self._quarantine.set_aside(bad_of(decoded), quarantine_batch, counts.bad)
            reach("live.quarantine.after")
        finally:
            decoded.unpersist()
        return counts, groups

    @property
    def _name(self) -> str:
        return spark_name(self.catalog, self.pipeline.spec.target.table)

    def _properties(
        self, commit: str, query: str, number: int, offsets: Offsets, counts: BatchCounts
    ) -> dict[str, str]:
        watermarks = batch_watermarks(self.checkpoint, number)
        properties = super()._properties(commit, query, number, offsets, counts)
        return {
            **properties,
            props.WATERMARK: str(watermarks.closed),
            props.LATE_BEFORE: str(watermarks.late_before),
            props.LATE: str(counts.late),
            props.WINDOW: window_text(declared_window(self.pipeline.spec)),
        }
