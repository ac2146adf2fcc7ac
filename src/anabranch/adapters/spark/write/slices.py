"""Writes one slice on Spark: read at its offsets, decode, transform, and commit rows and ledger to staging at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JError
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.catalog import IcebergCatalog
from anabranch.adapters.iceberg.table import HistoryGoneError
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.log_scan import ScanPace
from anabranch.adapters.kafka.slice_gaps import SliceGaps
from anabranch.adapters.spark.decode.decode import BYTES, EVENT_TIME, REASON, TOMBSTONE, bad_of, decode, events_of
from anabranch.adapters.spark.keyed.changes import Fates, KeyedChanges, change_counts
from anabranch.adapters.spark.keyed.merge import merge
from anabranch.adapters.spark.source.driver_reader import DriverReadError, is_timestamp_overflow, read_via_driver
from anabranch.adapters.spark.source.kafka_source import read_offsets
from anabranch.adapters.spark.source.read_meter import ReadMeter
from anabranch.adapters.spark.transform.errors import TransformFailedError
from anabranch.adapters.spark.transform.load import LoadedTransform
from anabranch.adapters.spark.transform.materialize import materialized
from anabranch.adapters.spark.transform.output_rows import COORDINATES, align
from anabranch.adapters.spark.write.clustering import CLUSTERED
from anabranch.adapters.spark.write.quarantine import Batch, QuarantineTable
from anabranch.adapters.spark.write.target_table import spark_name
from anabranch.contract.consumer_groups import REPLAY_PREFIX
from anabranch.contract.pipeline import Pipeline
from anabranch.crashpoints import reach
from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.plan import Plan
from anabranch.plan.slices import Slice
from anabranch.plan.target_range import PartitionRange
from anabranch.replay.gaps import NO_GAP, Gap
from anabranch.replay.ledger import UNSTAGED, Account, LedgerError, settle
from anabranch.replay.replayer import SliceDone, SlicePhase, SliceProgress
from anabranch.replay.slice_ledger import SliceLedger
from anabranch.replay.staging import Staging
from anabranch.runs.heads import Head

PartitionCounts = Mapping[int, Mapping[str, int]]

SAFE = UNSTAGED


class SliceFailedError(AnabranchError):
    code = "replay.slice-failed"


class RowOutsideError(AnabranchError):
    code = "replay.row-outside-range"
    exit_code = ExitCode.REFUSED


@dataclass(frozen=True)
class SparkSliceWriter:
    spark: SparkSession
    kafka: KafkaAccess
    catalog: IcebergCatalog
    plan: Plan
    pipeline: Pipeline
    transform: LoadedTransform
    run_id: str
    control: bool = False
    """Whether it replays the control: its bad records are set aside by the corrected code, if they are bad to that."""
    set_aside: bool = True
    """Whether bad records go to quarantine; else they are only counted."""

    @property
    def client_id(self) -> str:
        """Quotas and the broker's logs know the replay by this name."""
        return f"{REPLAY_PREFIX}-{self.run_id}"

    @cached_property
    def meter(self) -> ReadMeter:
        """Of the run's client: all of its writers share it."""
        return ReadMeter(self.spark, self.client_id)

    def limit(self, bytes_per_second: int | None) -> None:
        self.meter.limit(bytes_per_second)

    def progress(self, slice_: Slice) -> SliceProgress:
        planned = self._records_to_read(slice_)
        read = min(planned, self.meter.records(self._metered_as(slice_)))
        step = self._steps.get(slice_.id, SlicePhase.READ)
        if step is SlicePhase.READ and read == planned:
            step = SlicePhase.WRITE  # one pass reads and writes at once: what is left of it is writing
        return SliceProgress(step, read, planned, self.meter.bytes)

    def prepare(self, slice_: Slice) -> None:
        """Each slice is a query of its own."""

    def begin(self, slice_: Slice) -> None:
        """What the slice before has committed may be needed: nothing is begun before its turn."""

    def await_read(self, slice_: Slice) -> None:
        """Nothing is read before `write`."""

    def let_go(self) -> None:
        """Nothing was begun."""

    def write(self, slice_: Slice, staging: Staging) -> SliceDone:
        """One commit with the slice's rows and ledger, or none. Bad records go to quarantine before it, once."""
        try:
            return self._write(slice_, staging, self._read)
        except SliceFailedError as failed:
            if not is_timestamp_overflow(failed.__cause__):
                raise
        return self._write(slice_, staging, self._read_plainly)

    def _write(self, slice_: Slice, staging: Staging, read_raw: Callable[[Slice], DataFrame]) -> SliceDone:
        with self._explained(slice_), kept(decode(read_raw(slice_), self.pipeline.spec)) as decoded:
            read = read_counts(decoded, self._in_range)
            self._set_aside(slice_, bad_of(decoded), total("bad", read))
            reach("slice.write.before")
            self._steps[slice_.id] = SlicePhase.WRITE
            if self.plan.strategy.whole_table:
                return self._merge(slice_, staging, decoded, read)
            with kept(self._rows(decoded)) as rows:
                self._require_in_range(slice_, rows)
                ledger = self._ledger(slice_, total("bytes", read), read, _row_counts(rows), appended)
                reach("slice.write.after")
                snapshot = self._commit(rows.drop(*COORDINATES), slice_, staging, ledger)
        return SliceDone(snapshot, ledger)

    def _merge(self, slice_: Slice, staging: Staging, decoded: DataFrame, read: PartitionCounts) -> SliceDone:
        """What the slice changes by key, merged into the state that the branch has."""
        table = spark_name(self.catalog, self.plan.target.table)
        branch = f"{table}.`branch_{staging.name}`"
        keyed = KeyedChanges(self.pipeline.spec, self.transform, self.spark.table(table).schema)
        with materialized(keyed.of(decoded, self.spark.table(branch))) as changes:
            keyed.require_sound(changes)
            ledger = self._ledger(slice_, total("bytes", read), read, change_counts(changes), keyed.fates)
            reach("slice.write.after")
            said = self._said(slice_, staging, ledger)
            self._steps[slice_.id] = SlicePhase.COMMIT
            reach("slice.commit.before")
            merge(
                changes,
                branch,
                keyed.keys,
                keyed.columns.names,
                said,
                lambda: self._landed(slice_, staging) is not None,
            )
        reach("slice.commit.after")
        return SliceDone(self._require_landed(slice_, staging), ledger)

    @cached_property
    def _steps(self) -> dict[str, SlicePhase]:
        """What is being done with each slice, by its id; read by other threads."""
        return {}

    def _records_to_read(self, slice_: Slice) -> int:
        """How many records the slice reads, if every offset has one."""
        return sum(end - start for ranges in slice_.needed.values() for start, end in ranges)

    def _metered_as(self, slice_: Slice) -> str:
        return f"control/{slice_.id}" if self.control else slice_.id

    def _read(self, slice_: Slice) -> DataFrame:
        """Metered: counted as records of the slice, and held to the limit."""
        return self.meter.on(self._read_freely(slice_), self._metered_as(slice_))

    def _read_freely(self, slice_: Slice) -> DataFrame:
        return read_offsets(
            self.spark,
            bootstrap=self.kafka.bootstrap,
            topic=self.plan.source.topic,
            ranges=slice_.offsets,
            client_id=self.client_id,
            options=self.kafka.spark(),
            bytes_per_second=self.meter.rate,
        )

    def _read_plainly(self, slice_: Slice) -> DataFrame:
        client, name = self.kafka.client(self.client_id), self._metered_as(slice_)
        return read_via_driver(self.spark, client, self.plan.source.topic, slice_.offsets, self.meter, name)

    @cached_property
    def _in_range(self) -> Column:
        partitions = self.plan.target.partitions
        if not isinstance(partitions, PartitionRange):
            return F.lit(True)
        return (F.col(EVENT_TIME) >= F.lit(partitions.start)) & (F.col(EVENT_TIME) < F.lit(partitions.end))

    def _inside(self) -> Column:
        """Whether a row is in the range; null if it does not say."""
        partitions = self.plan.target.partitions
        if not isinstance(partitions, PartitionRange):
            return F.lit(True)
        moment = F.col(f"`{partitions.axis.column}`")
        return (moment >= F.lit(partitions.start)) & (moment < F.lit(partitions.end))

    def _set_aside(self, slice_: Slice, found: DataFrame, bad: int) -> None:
        if self._sets_aside(bad):
            quarantine = QuarantineTable(self.catalog, self.pipeline)
            quarantine.prepare(self.spark)
            batch = Batch(id=f"{self.run_id}/{slice_.id}", slice=slice_.id, run=self.run_id, total="")
            quarantine.set_aside(found, batch, bad)

    def _sets_aside(self, bad: int) -> bool:
        return bool(bad) and self.set_aside and not self.control

    def _rows(self, decoded: DataFrame) -> DataFrame:
        events = events_of(decoded).where(self._in_range)
        columns = self.spark.table(spark_name(self.catalog, self.plan.target.table)).schema
        return align(self.transform(events), columns, keep=tuple(COORDINATES))

    def _require_in_range(self, slice_: Slice, rows: DataFrame) -> None:
        """A row outside would be put into partitions that are not replaced, beside what live has written there."""
        partitions = self.plan.target.partitions
        if not isinstance(partitions, PartitionRange):
            return
        moment = F.col(f"`{partitions.axis.column}`")
        stray = rows.where(~F.coalesce(self._inside(), F.lit(False))).select(*COORDINATES, moment.alias("at")).first()
        if stray is not None:
            raise RowOutsideError(
                f"The transform gives the event at partition {stray['_partition']} offset {stray['_offset']} the time "
                f"{stray['at']} in {partitions.axis.column}, which is outside the range.",
                state=SAFE,
                hint=f"keep {partitions.axis.column} within the partition of the event's own time",
                slice=slice_.id,
            )

    def _ledger(
        self,
        slice_: Slice,
        bytes_read: int,
        read: PartitionCounts,
        rows: PartitionCounts,
        fates: Callable[[Mapping[str, int], Mapping[str, int]], Fates],
    ) -> SliceLedger:
        gaps, scanned = self._explain_gaps(slice_, read)
        accounts = {
            partition: _account(
                slice_.offsets[partition],
                read.get(partition, {}),
                rows.get(partition, {}).get("rows", 0),
                fates(read.get(partition, {}), rows.get(partition, {})),
                gaps.get(partition, NO_GAP),
            )
            for partition in slice_.offsets
        }
        self._require_balance(slice_, accounts)
        return SliceLedger(bytes_read + scanned, accounts)

    def _explain_gaps(self, slice_: Slice, read: PartitionCounts) -> tuple[Mapping[int, Gap], int]:
        """What the offsets without a record are, by partition, and how many bytes were read to know it."""
        counted = {partition: _records(read.get(partition, {})) for partition in slice_.offsets}
        # The scan reads from the same brokers, so it passes the same meter.
        pace = ScanPace(fetched=lambda size: self.meter.passed(self._metered_as(slice_), 0, size))
        return SliceGaps(self.kafka, self.client_id, self.plan.source, self.run_id, pace).explain(slice_, counted)

    def _require_balance(self, slice_: Slice, accounts: Mapping[int, Account]) -> None:
        for partition, account in accounts.items():
            if not account.balances or account.lost:
                fates = ", ".join(f"{fate} {count}" for fate, count in account.fates.items() if count)
                raise LedgerError(
                    f"Slice {slice_.id}, partition {partition}: the ledger does not balance: {account.offsets} offsets "
                    f"planned, {sum(account.fates.values())} counted ({fates}), {account.rows} rows.",
                    state=SAFE,
                    command=f"anabranch retry {self.run_id}",
                    slice=slice_.id,
                    partition=partition,
                )

    def _said(self, slice_: Slice, staging: Staging, ledger: SliceLedger) -> dict[str, str]:
        return {
            props.RUN: self.run_id,
            props.EPOCH: str(staging.epoch),
            props.SLICE: slice_.id,
            props.OFFSETS: props.write_offsets(slice_.offsets),
            props.LEDGER: json.dumps(ledger.document(), separators=(",", ":")),
        }

    def _commit(self, rows: DataFrame, slice_: Slice, staging: Staging, ledger: SliceLedger) -> Head:
        said = self._said(slice_, staging, ledger)
        options = {**CLUSTERED, **{f"snapshot-property.{name}": value for name, value in said.items()}}
        branch = f"{spark_name(self.catalog, self.plan.target.table)}.`branch_{staging.name}`"
        return self._land(rows.writeTo(branch).options(**options).append, slice_, staging)

    def _land(self, commit: Callable[[], None], slice_: Slice, staging: Staging) -> Head:
        """The snapshot that the slice's one commit has made."""
        self._steps[slice_.id] = SlicePhase.COMMIT
        reach("slice.commit.before")
        try:
            commit()
        except (PySparkException, Py4JError):
            # The answer may have been lost after the commit was made; the branch knows.
            landed = self._landed(slice_, staging)
            if landed is None:
                raise
            return landed
        reach("slice.commit.after")
        return self._require_landed(slice_, staging)

    def _require_landed(self, slice_: Slice, staging: Staging) -> Head:
        snapshot = self._landed(slice_, staging)
        if snapshot is None:
            raise SliceFailedError(
                f"Slice {slice_.id} was written, but not to the staging of epoch {staging.epoch}: that one is gone.",
                state="Production is as before, and so is the staging in use.",
                hint=f"anabranch status {self.run_id} says who has taken over",
                slice=slice_.id,
            )
        return snapshot

    def _landed(self, slice_: Slice, staging: Staging) -> Head | None:
        target = IcebergTarget(self.catalog.open(), self.plan.target.table)
        try:
            staged = target.staged_slices(staging.name, staging.root or self.plan.staging_base)
        except HistoryGoneError:
            return None
        return next((each.head for each in staged if each.slice_id == slice_.id), None)

    @contextmanager
    def _explained(self, slice_: Slice) -> Iterator[None]:
        """Spark's errors in our words; those of the user's transform with their line."""
        try:
            with self.transform.attribute_transform_errors():
                yield
        except TransformFailedError as error:
            # Live may be mended and go on. A plan is for one version of the code.
            mend = (
                "plan anew without a control" if self.control else "mend that line, and plan anew for the mended code"
            )
            raise TransformFailedError(
                f"In the control's code {self.transform.digest[:12]}: {error.what}" if self.control else error.what,
                state=SAFE,
                hint=f"`anabranch cancel {self.run_id}`; then {mend}",
                slice=slice_.id,
                **dict[str, Any](error.fields),
            ) from error.__cause__
        except (PySparkException, Py4JError, DriverReadError) as error:
            raise SliceFailedError(
                f"Slice {slice_.id} could not be replayed.",
                state=SAFE,
                command=f"anabranch retry {self.run_id}",
                slice=slice_.id,
            ) from error


def read_counts(decoded: DataFrame, in_range: Column) -> dict[int, dict[str, int]]:
    """By partition: bytes read, and how many records are bad, tombstones, in range, and not."""
    good = F.col(REASON).isNull() & ~F.col(TOMBSTONE)
    counts = decoded.groupBy("_partition").agg(
        F.sum(BYTES).alias("bytes"),
        F.count_if(F.col(REASON).isNotNull()).alias("bad"),
        F.count_if(F.col(TOMBSTONE)).alias("tombstones"),
        F.count_if(good & in_range).alias("in_range"),
        F.count_if(good & ~in_range).alias("out_of_range"),
    )
    return {row["_partition"]: row.asDict() for row in counts.collect()}


def _records(read: Mapping[str, int]) -> int:
    """How many records were counted, of whatever kind."""
    return sum(read.get(kind, 0) for kind in ("bad", "tombstones", "in_range", "out_of_range"))


def total(kind: str, counts: PartitionCounts) -> int:
    return sum(each[kind] for each in counts.values())


def _row_counts(rows: DataFrame) -> dict[int, dict[str, int]]:
    """By partition: rows, and how many different events they come from."""
    counts = rows.groupBy("_partition").agg(F.count("*").alias("rows"), F.count_distinct("_offset").alias("events"))
    return {row["_partition"]: row.asDict() for row in counts.collect()}


def appended(read: Mapping[str, int], rows: Mapping[str, int]) -> Fates:
    """Where each event becomes its rows on its own. Tombstones are none."""
    output = rows.get("events", 0)
    return Fates(output, read.get("in_range", 0) - output + read.get("tombstones", 0), 0)


def _account(
    offsets: tuple[int, int],
    read: Mapping[str, int],
    rows: int,
    fates: Fates,
    gap: Gap,
) -> Account:
    return settle(
        *offsets,
        output=fates.output,
        filtered=fates.filtered,
        superseded=fates.superseded,
        out_of_range=read.get("out_of_range", 0),
        quarantined=read.get("bad", 0),
        rows=rows,
        gap=gap,
    )


@contextmanager
def kept(frame: DataFrame) -> Iterator[DataFrame]:
    """Computed once and kept while it is used: counted and written must be the same rows, from one read of Kafka."""
    kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield kept
    finally:
        kept.unpersist()
