"""Windows as a stream: records to rows with the state that Spark keeps, and exactly one batch of it at a time."""

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
from anabranch.adapters.spark.source.kafka_source import SAFE, TUNED
from anabranch.adapters.spark.source.read_meter import fetch_options
from anabranch.adapters.spark.transform.load import LoadedTransform
from anabranch.adapters.spark.transform.output_rows import WINDOW, align
from anabranch.contract.event_window import EventWindow
from anabranch.contract.pipeline import PipelineSpec


def declared_window(spec: PipelineSpec) -> EventWindow:
    if spec.window is None:
        raise AssertionError("a pipeline of class windowed has a window")
    return spec.window


def streamed_rows(records: DataFrame, spec: PipelineSpec, transform: LoadedTransform, columns: StructType) -> DataFrame:
    """Decoded, the late ones waited for, and transformed: with state, which Spark keeps in the checkpoint."""
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
    """The topic as a stream whose offsets the checkpoint says; nothing is read that is not written down there.

    Fetches are small enough for `bytes_per_second`; the limit itself is held by the client's meter.
    """
    settings = {
        **TUNED,
        **{f"kafka.{key}": value for key, value in kafka.spark().items()},
        **fetch_options(bytes_per_second, len(partitions)),
        **SAFE,
        "kafka.bootstrap.servers": kafka.bootstrap,
        "kafka.client.id": client_id,
        "groupIdPrefix": client_id,
        "assign": json.dumps({topic: sorted(partitions)}),
        "startingOffsets": "earliest",
        "includeHeaders": "true",
    }
    return spark.readStream.format("kafka").options(**settings).load()


def first_notes(spark: SparkSession) -> dict[str, Any]:
    """The metadata that Spark logs with the offsets of a first batch: the settings that its state depends on."""
    notes = spark._jvm.org.apache.spark.sql.execution.streaming.OffsetSeqMetadata  # type: ignore[union-attr]
    metadata: dict[str, Any] = json.loads(notes.apply(0, 0, spark._jsparkSession.conf()).json())
    return metadata


def run_begun_batch(
    rows: DataFrame, checkpoint: Path, batch: int, name: str, write: Callable[[DataFrame], None]
) -> None:
    """Run the one batch that is written down in the checkpoint and not done, and no other.

    Spark finds it started and runs it as after a crash: by its offsets, its watermark, and the state before it.
    """
    failures: list[BaseException] = []

    def act(frame: DataFrame, number: int) -> None:
        if number != batch:
            raise AssertionError(f"Spark runs batch {number} instead of {batch}")
        try:
            write(frame)
        except BaseException as error:
            failures.append(error)
            # Anything but an Exception would not reach Spark, which would wait for an answer for ever.
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
