"""Live with windows: the stream keeps the state, and a batch's rows are those of the windows it has closed."""

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
from anabranch.live.batch import BatchWriter, Seen, seen_of
from anabranch.live.errors import CONTINUES, StateLostError
from anabranch.live.pace import client_id
from anabranch.live.writing import append
from anabranch.plan.offsets.zones import EventGroup, zones_of
from anabranch.plan.slices import Offsets
from anabranch.plan.strategies.live_batches import window_text


def require_state(pipeline: str, checkpoint: Path, topic: Topic, last: LiveCommit | None) -> None:
    """Refuse to begin anew where the table stands: the events of windows that were open would be in no row."""
    if last is None or last.topic != topic.uuid or (checkpoint / "metadata").is_file():
        return
    raise StateLostError(
        f"Live {pipeline} has written windows before, and its state is gone: {checkpoint} is not there. The windows "
        "that were open can't be completed from where the table stands.",
        state=CONTINUES,
        hint=f"put {checkpoint} back from a backup; or begin anew with another target table",
        checkpoint=str(checkpoint),
    )


@dataclass
class WindowWriter(BatchWriter):
    """Writes the windows that a batch has closed.

    The stream gives rows and no records, so the batch's records are read once more by their offsets: to set aside the
    bad ones, and to count those that came too late. Spark's own count of late rows is taken after it has added them
    up in part, and says nothing of events.
    """

    kafka: KafkaAccess = field(kw_only=True)
    keep_checkpoint: Callable[[int, str | None], object] = field(default=lambda _batch, _newest: None, kw_only=True)
    """Told of the last batch that is done, and the newest event by then. Must not raise: live has to go on."""

    def shape(self, records: DataFrame) -> DataFrame:
        return streamed_rows(records, self.pipeline.spec, self.transform, self.columns)

    def _run(self, batch: DataFrame, number: int) -> None:
        # Now, when Spark has written down the batch before as done and nothing of this one is at work yet.
        if number:
            self.keep_checkpoint(number - 1, self._newest)
        super()._run(batch, number)

    def _again(self, batch: DataFrame) -> None:
        """The rows are in the table, but the batch's state may not be on the disk: only running it puts it there."""
        batch.write.format("noop").mode("append").save()

    def _write(self, batch: DataFrame, query: str, number: int, offsets: Offsets) -> tuple[Seen, int]:
        commit = live_commit_id(query, number)
        new = {partition: (start, end) for partition, (start, end) in offsets.items() if start < end}
        seen, groups = self._look(batch, commit, query, number, new)
        window = declared_window(self.pipeline.spec)
        axis = usable_axis(self._tables.load_table(self.pipeline.spec.target.table)).column
        rows = batch.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            with self.transform.attribute_transform_errors():
                require_windows(rows, window, axis, CONTINUES)
            reach("live.commit.before")
            said = self._properties(commit, query, number, offsets, seen)
            with self.transform.attribute_transform_errors():
                append(rows.drop(*WINDOW), self._name, commit, said, self._is_last)
            reach("live.commit.after")
        finally:
            rows.unpersist()
        self.keep_zones(zones_of(new, groups))
        landed = self._last_commit()
        return seen, landed.rows if landed is not None and landed.id == commit else 0

    def _look(
        self, batch: DataFrame, commit: str, query: str, number: int, ranges: Offsets
    ) -> tuple[Seen, list[EventGroup]]:
        if not ranges:
            return seen_of(()), []  # a batch without records only closes windows
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
            seen = seen_of(groups, decoded.where(late).count())
            self.still_same_topic()
            reach("live.quarantine.before")
            aside = Batch(commit, commit, None, live_commit_id(query, 0).removesuffix("0"))
            self._quarantine.set_aside(bad_of(decoded), aside, seen.bad)
            reach("live.quarantine.after")
        finally:
            decoded.unpersist()
        return seen, groups

    @property
    def _name(self) -> str:
        return spark_name(self.catalog, self.pipeline.spec.target.table)

    def _properties(self, commit: str, query: str, number: int, offsets: Offsets, seen: Seen) -> dict[str, str]:
        marks = batch_watermarks(self.checkpoint, number)
        said = super()._properties(commit, query, number, offsets, seen)
        return {
            **said,
            props.WATERMARK: str(marks.closed),
            props.LATE_BEFORE: str(marks.late_before),
            props.LATE: str(seen.late),
            props.WINDOW: window_text(declared_window(self.pipeline.spec)),
        }
