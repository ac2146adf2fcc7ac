"""Times the stages of a slice, each on top of the one before, to tell where its time goes. Writes nothing itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from anabranch.adapters.spark.decode.decode import decode, events_of
from anabranch.adapters.spark.keyed.changes import KeyedChanges
from anabranch.adapters.spark.source.kafka_source import read_offsets
from anabranch.adapters.spark.write.slices import SparkSliceWriter
from anabranch.adapters.spark.write.target_table import spark_name
from anabranch.errors import AnabranchError
from anabranch.plan.slices import Slice, layers


class StageFailedError(AnabranchError):
    code = "rehearsal.stage-failed"


def time_stages(
    writer: SparkSliceWriter,
    slice_: Slice,
    branch: str,
    clock: Callable[[], float],
    write: Callable[[], float],
    commit: float,
) -> dict[str, float]:
    """Seconds of each stage, of a slice whose commit takes `commit`. `write` writes it, alone and after all reads here,
    and returns how long that took.

    What a first read takes longer than a second one is the broker fetching from its disk; the second comes from its
    memory, and is the network with the client. What is smaller than the noise is nothing.
    """
    try:
        with writer.transform.attribute_transform_errors():
            first = _timed(_read(writer, slice_), clock)
            again = _timed(_read(writer, slice_), clock)
            decoded = _timed(decode(_read(writer, slice_), writer.pipeline.spec), clock)
            rows = _timed(_rows(writer, slice_, branch), clock)
            whole = write()
    except (PySparkException, Py4JError) as error:
        raise StageFailedError(
            f"The records of slice {slice_.id} could not be read, decoded or transformed.",
            state="Production is as before.",
            hint="anabranch doctor; then rehearse again",
            slice=slice_.id,
        ) from error
    read = min(first, again)
    found = {
        "broker": first - again,
        "network": read,
        "decode": decoded - read,
        "transform": rows - max(decoded, read),
        "write": whole - max(rows, decoded, read) - commit,
        "commit": commit,
    }
    return {stage: round(max(0.0, seconds), 3) for stage, seconds in found.items()}


def _read(writer: SparkSliceWriter, slice_: Slice) -> DataFrame:
    frames = [
        read_offsets(
            writer.spark,
            bootstrap=writer.kafka.bootstrap,
            topic=writer.plan.source.topic,
            ranges=each,
            client_id=writer.client_id,
            options=writer.kafka.spark(),
        )
        for each in layers(slice_.needed)
    ]
    return reduce(DataFrame.union, frames)


def _rows(writer: SparkSliceWriter, slice_: Slice, branch: str) -> DataFrame:
    decoded = decode(_read(writer, slice_), writer.pipeline.spec)
    if not writer.plan.strategy.whole_table:
        return writer.transform(events_of(decoded))
    table = spark_name(writer.catalog, writer.plan.target.table)
    keyed = KeyedChanges(writer.pipeline.spec, writer.transform, writer.spark.table(table).schema)
    return keyed.of(decoded, writer.spark.table(f"{table}.`branch_{branch}`"))


def _timed(frame: DataFrame, clock: Callable[[], float]) -> float:
    """All columns of all rows computed, and thrown away."""
    started = clock()
    frame.write.format("noop").mode("overwrite").save()
    return clock() - started
