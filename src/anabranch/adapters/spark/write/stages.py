"""Times the stages of a slice, each added to the one before, to find the slowest. Writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from anabranch.adapters.spark.decode.decode import decode, events_of
from anabranch.adapters.spark.keyed.changes import KeyedChanges
from anabranch.adapters.spark.source.kafka_source import read_offsets
from anabranch.adapters.spark.write.job import SliceJob
from anabranch.errors import AnabranchError
from anabranch.plan.slices import Slice, layers
from anabranch.replay.staging import Staging


class StageFailedError(AnabranchError):
    code = "rehearsal.stage-failed"


def time_stages(
    job: SliceJob,
    slice_: Slice,
    staging: Staging,
    clock: Callable[[], float],
    write: Callable[[], float],
    commit: float,
) -> dict[str, float]:
    """Seconds of each stage, of a slice whose commit takes `commit`. `write` writes it, alone and after all reads here,
    and returns how long that took.

    The first read includes the broker's disk; the second comes from its page cache and is network and client. The
    difference is the broker's time. A difference smaller than the noise is reported as 0.
    """
    try:
        with job.transform.attribute_transform_errors():
            first = _timed(_read(job, slice_), clock)
            again = _timed(_read(job, slice_), clock)
            decoded = _timed(decode(_read(job, slice_), job.pipeline.spec), clock)
            rows = _timed(_rows(job, slice_, staging), clock)
            whole = write()
    except (PySparkException, Py4JError) as error:
        raise StageFailedError(
            f"The records of slice {slice_.id} could not be read, decoded or transformed.",
            state="Production unchanged.",
            command="anabranch doctor",
            hint="fix what the doctor reports, then rehearse again",
            slice=slice_.id,
        ) from error
    read = min(first, again)
    stages = {
        "broker": first - again,
        "network": read,
        "decode": decoded - read,
        "transform": rows - max(decoded, read),
        "write": whole - max(rows, decoded, read) - commit,
        "commit": commit,
    }
    return {stage: round(max(0.0, seconds), 3) for stage, seconds in stages.items()}


def _read(job: SliceJob, slice_: Slice) -> DataFrame:
    frames = [
        read_offsets(
            job.spark,
            bootstrap=job.kafka.bootstrap,
            topic=job.plan.source.topic,
            ranges=each,
            client_id=job.client_id,
            options=job.kafka.spark(),
        )
        for each in layers(slice_.needed)
    ]
    return reduce(DataFrame.union, frames)


def _rows(job: SliceJob, slice_: Slice, staging: Staging) -> DataFrame:
    decoded = decode(_read(job, slice_), job.pipeline.spec)
    if not job.plan.strategy.whole_table:
        return job.transform(events_of(decoded))
    keyed = KeyedChanges(job.pipeline.spec, job.transform, job.columns)
    return keyed.of(decoded, job.spark.table(job.branch(staging)))


def _timed(frame: DataFrame, clock: Callable[[], float]) -> float:
    """Seconds to compute all columns of all rows, which are discarded."""
    started = clock()
    frame.write.format("noop").mode("overwrite").save()
    return clock() - started
