"""Windowed pipelines as a stream: transforms records with Spark's state, exactly one batch at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from anabranch.adapters.checkpoints.log import is_committed
from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.spark.decode.decode import EVENT_TIME, decode, events_of
from anabranch.adapters.spark.source.kafka_source import SAFE, TUNED, poll_options
from anabranch.adapters.spark.source.read_meter import REPORTERS, fetch_options
from anabranch.adapters.spark.transform.load import LoadedTransform
from anabranch.adapters.spark.transform.output_rows import WINDOW, align
from anabranch.contract.event_window import EventWindow
from anabranch.contract.pipeline import PipelineSpec


def declared_window(spec: PipelineSpec) -> EventWindow:
    if spec.window is None:
        raise AssertionError("a pipeline of class windowed has a window")
    return spec.window


def streamed_rows(records: DataFrame, spec: PipelineSpec, transform: LoadedTransform, columns: StructType) -> DataFrame:
    """Decode, wait for late events by the watermark, and transform, with state in the checkpoint."""
    lateness = declared_window(spec).lateness // timedelta(milliseconds=1)
    events = events_of(decode(records, spec)).withWatermark(EVENT_TIME, f"{lateness} milliseconds")
    return align(transform(events), columns, keep=tuple(WINDOW), origin=WINDOW)


def stream_of(
    spark: SparkSession,
    kafka: KafkaAccess,
    topic: str,
    partitions: Collection[int],
    client_id: str,
    bytes_per_second: int | None = None,
) -> DataFrame:
    """The topic as a stream that reads only the offsets recorded in the checkpoint.

    Fetches are small enough for `bytes_per_second`; the client's meter enforces the limit.
    """
    tuned = {**TUNED, **{f"kafka.{key}": value for key, value in kafka.spark().items()}}
    settings = {
        **tuned,
        **poll_options(tuned, len(partitions)),
        **fetch_options(bytes_per_second, len(partitions)),
        **SAFE,
        **REPORTERS,
        "kafka.bootstrap.servers": kafka.bootstrap,
        "kafka.client.id": client_id,
        "groupIdPrefix": client_id,
        "assign": json.dumps({topic: sorted(partitions)}),
        "startingOffsets": "earliest",
        "includeHeaders": "true",
    }
    return spark.readStream.format("kafka").options(**settings).load()


def first_notes(spark: SparkSession) -> dict[str, Any]:
    """Spark's metadata for the offsets of a first batch: the settings on which its state depends."""
    notes = spark._jvm.org.apache.spark.sql.execution.streaming.OffsetSeqMetadata  # type: ignore[union-attr]
    metadata: dict[str, Any] = json.loads(notes.apply(0, 0, spark._jsparkSession.conf()).json())
    return metadata


def run_begun_batch(
    rows: DataFrame, checkpoint: Path, batch: int, name: str, write: Callable[[DataFrame], None]
) -> None:
    """Run exactly the batch that the checkpoint records as started and not committed.

    Spark runs it as after a crash, with its offsets, its watermark, and the state before it.
    """
    failures: list[BaseException] = []

    def act(frame: DataFrame, number: int) -> None:
        if number != batch:
            raise AssertionError(f"Spark runs batch {number} instead of {batch}")
        try:
            write(frame)
        except BaseException as error:
            failures.append(error)
            # Spark only receives Exceptions; with any other type it would wait for ever.
            raise RuntimeError(f"batch {batch} was not written") from error

    query = (
        rows.writeStream.queryName(name)
        .option("checkpointLocation", checkpoint.as_uri())
        .trigger(once=True)
        .foreachBatch(act)
        .start()
    )
    try:
        query.awaitTermination()
    except StreamingQueryException:
        if failures:
            raise failures[0] from None  # Spark has only its text
        raise
    finally:
        query.stop()
    if not is_committed(checkpoint, batch):
        raise AssertionError(f"batch {batch} was run, and {checkpoint} does not say so")
