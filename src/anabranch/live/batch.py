"""Writes one batch of live: decode, quarantine bad records, transform, and commit to main exactly once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from threading import Lock

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from anabranch.adapters.checkpoints.log import batch_offsets, query_id
from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.catalog import IcebergCatalog
from anabranch.adapters.iceberg.live import TOPIC, LiveCommit, last_live_commit, live_commit_id
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.spark.decode.decode import bad_of, decode
from anabranch.adapters.spark.source.zone_counter import count_groups
from anabranch.adapters.spark.transform.load import LoadedTransform
from anabranch.adapters.spark.write.quarantine import Batch, QuarantineTable
from anabranch.contract.pipeline import KEYED, Pipeline
from anabranch.crashpoints import reach
from anabranch.live.errors import CONTINUES, OutOfStepError
from anabranch.live.progress import BatchDone
from anabranch.live.start_states import StateKeeper
from anabranch.live.writing import batch_write
from anabranch.plan.lookup_tables import pins_document
from anabranch.plan.offsets.zones import EventGroup, Zone, zones_of
from anabranch.plan.slices import Offsets
from anabranch.promote.history import Author

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class StopRequestedError(Exception):
    """Ends the query before the next batch, after live was requested to stop."""


@dataclass(frozen=True)
class BatchCounts:
    """Counts of the decoded records of a batch."""

    records: int
    bad: int
    event_time: str | None
    late: int = 0
    """Events that came after their window was written."""


@dataclass
class BatchWriter:
    """The function that Structured Streaming calls for each batch.

    Only the last batch before a restart is run again, so only for the first batch the table is checked whether it has
    it already.
    """

    catalog: IcebergCatalog
    pipeline: Pipeline
    transform: LoadedTransform
    columns: StructType
    """The columns of the target."""
    topic: str
    """UUID of the topic."""
    checkpoint: Path
    still_same_topic: Callable[[], object]
    """Raises if the topic was deleted or recreated."""
    commit_group: Callable[[dict[int, int]], object]
    report: Callable[[BatchDone, Offsets], None]
    keep_zones: Callable[[Sequence[Zone]], object] = lambda _zones: None
    """Called after the batch is committed. Must not raise: the zone map can be rebuilt, the batch cannot be undone."""
    clock: Callable[[], float] = time.time
    failure: BaseException | None = None
    """The first error of a batch. Spark passes on only its text."""
    last: int | None = None
    """The last completed batch."""
    _stopping: bool = False
    _resumed: bool = False
    _batch_lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        # Opened once: every opened catalog holds connections, and live runs for months.
        self._tables = self.catalog.open()
        self._quarantine = QuarantineTable(self.catalog, self.pipeline)
        self._commit = batch_write(self.catalog, self.pipeline, self.transform, self.columns, self._is_last)
        target = IcebergTarget(self._tables, self.pipeline.spec.target.table)
        keyed = self.pipeline.spec.pipeline_class in KEYED
        self._states = StateKeeper(target, self.pipeline.spec.state) if keyed else None
        last = self._last_commit()
        self._newest = None if last is None else last.event_time

    def __call__(self, batch: DataFrame, number: int) -> None:
        with self._batch_lock:
            if self._stopping:
                raise StopRequestedError
            try:
                self._run(batch, number)
                self.last = number
            except BaseException as error:
                self.failure = self.failure or error
                raise

    def shape(self, records: DataFrame) -> DataFrame:
        """The stateful part of the stream, applied before batches are made; none here."""
        return records

    def finish(self) -> None:
        """Wait until no batch is running. None begins afterwards."""
        with self._batch_lock:
            self._stopping = True

    def _run(self, batch: DataFrame, number: int) -> None:
        started = self.clock()
        query = query_id(self.checkpoint)
        offsets = batch_offsets(self.checkpoint, number, self.pipeline.spec.source.topic)
        commit = live_commit_id(query, number)
        if not self._resumed and self._is_committed(commit, number, offsets):
            self._run_again(batch)
            counts, rows = BatchCounts(0, 0, None), 0
        else:
            counts, rows = self._write(batch, query, number, offsets)
        self._resumed = True
        reach("live.group.before")
        self.commit_group({partition: end for partition, (_, end) in offsets.items()})
        reach("live.group.after")
        done = BatchDone(
            number, counts.records, rows, counts.bad, started, self.clock(), counts.event_time, counts.late
        )
        self.report(done, offsets)

    def _run_again(self, batch: DataFrame) -> None:
        """Complete a batch whose rows are in the table; nothing to do without state."""

    def _is_committed(self, commit: str, number: int, offsets: Offsets) -> bool:
        """Whether the table has the batch. Raises OutOfStepError unless the table's position is where the batch
        starts."""
        last = self._last_commit()
        if last is not None and last.id == commit:
            return True
        if last is None or last.topic != self.topic:
            in_step = number == 0
        else:
            in_step = all(offsets.get(p, (None,))[0] == end for p, end in last.position.items())
        if not in_step:
            raise self._out_of_step(number, offsets, last)
        return False

    def _out_of_step(self, number: int, offsets: Offsets, last: LiveCommit | None) -> OutOfStepError:
        starts = {partition: start for partition, (start, _) in sorted(offsets.items())}
        table = self.pipeline.spec.target.table
        position = f"ends at {dict(sorted(last.position.items()))} ({last.id})" if last else "does not exist"
        return OutOfStepError(
            f"Checkpoint resumes at batch {number} (offsets by partition {starts}); the last commit of live in {table} "
            f"{position}.",
            state=CONTINUES,
            hint=f"If the table was rolled back or recreated on purpose, remove {self.checkpoint}: live then "
            "continues from the table's position",
            batch=number,
        )

    def _write(self, batch: DataFrame, query: str, number: int, offsets: Offsets) -> tuple[BatchCounts, int]:
        self.transform.lookups.refresh()
        # Persisted, because the records are used three times: to count, to quarantine, to write.
        decoded = decode(batch, self.pipeline.spec).persist()
        try:
            groups = count_groups(decoded)
            counts = batch_counts(groups)
            # Checked after reading: a recreated topic never has its former UUID.
            self.still_same_topic()
            commit = live_commit_id(query, number)
            reach("live.quarantine.before")
            quarantine_batch = Batch(commit, commit, None, live_commit_id(query, 0).removesuffix("0"))
            self._quarantine.set_aside(bad_of(decoded), quarantine_batch, counts.bad)
            reach("live.quarantine.after")
            reach("live.commit.before")
            rows = self._commit(decoded, commit, self._properties(commit, query, number, offsets, counts))
            reach("live.commit.after")
        finally:
            decoded.unpersist()
        self.keep_zones(zones_of(offsets, groups))
        last = self._last_commit()
        if last is None or last.id != commit:
            return counts, rows or 0
        if self._states is not None:
            self._states.after(last.snapshot, self.clock())
        return counts, last.rows if rows is None else rows

    def _is_last(self, commit: str) -> bool:
        last = self._last_commit()
        return last is not None and last.id == commit

    def _properties(
        self, commit: str, query: str, number: int, offsets: Offsets, counts: BatchCounts
    ) -> dict[str, str]:
        self._newest = max(filter(None, (self._newest, counts.event_time)), default=None)
        newest = {} if self._newest is None else {props.EVENT_TIME: self._newest}
        pins = self.transform.lookups.pins
        lookup_pins = {props.LOOKUPS: json.dumps(pins_document(pins), separators=(",", ":"))} if pins else {}
        return {
            **newest,
            **lookup_pins,
            props.AUTHOR: Author.LIVE.value,
            props.COMMIT: commit,
            props.PIPELINE: self.pipeline.metadata.name,
            props.CODE: self.transform.digest,
            props.QUERY: query,
            props.BATCH: str(number),
            props.OFFSETS: props.write_offsets(offsets),
            TOPIC: self.topic,
        }

    def _last_commit(self) -> LiveCommit | None:
        table = self._tables.load_table(self.pipeline.spec.target.table)
        return last_live_commit(table, self.pipeline.metadata.name)


def batch_counts(groups: Iterable[EventGroup], late: int = 0) -> BatchCounts:
    all_groups = list(groups)
    newest = max((each.high for each in all_groups if each.high is not None), default=None)
    return BatchCounts(
        sum(each.count for each in all_groups),
        sum(each.bad for each in all_groups),
        None if newest is None else _text(newest),
        late,
    )


def _text(micros: int) -> str:
    seconds, rest = divmod(micros, 1_000_000)
    moment = datetime.fromtimestamp(seconds, timezone.utc).replace(microsecond=rest)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
