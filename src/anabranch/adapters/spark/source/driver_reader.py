"""Reads one slice with a plain consumer in the driver, if Spark's reader fails on a record's timestamp.

Spark converts a record's timestamp from milliseconds to microseconds and fails the job if that overflows 64 bits, even
if the column is not selected. One such record would make its slice impossible to replay.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from anabranch.adapters.spark.source.kafka_source import SAFE
from anabranch.adapters.spark.source.read_meter import ReadMeter, fetch_options

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

LATEST = (2**63 - 1) // 1000
"""Timestamps in milliseconds that Spark can represent."""
AT_ONCE = 10_000
AT_ONCE_LIMITED = 100
"""Under a limit the meter is updated after this many records."""
MESSAGE_BYTES = 1_000_000
"""The client's default for the largest message, below which it accepts no fetch.max.bytes."""
PATIENCE = 60.0
"""Seconds without a record after which the read fails."""
_READERS = ("KafkaRecordToRowConverter", "anabranch.SliceReader")
"""The Java classes in whose stack frames the overflow happens."""
_COLUMNS = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestampType", pa.int32()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)

Ranges = Mapping[int, tuple[int, int]]


class DriverReadError(Exception):
    """The plain consumer could not read the slice either. The caller reports it as the slice's error."""


def is_timestamp_overflow(error: BaseException | None) -> bool:
    """Whether this error is the timestamp overflow of Spark's reader or of the native one."""
    text = str(error)
    return "long overflow" in text and any(reader in text for reader in _READERS)


def read_via_driver(
    spark: SparkSession, client: Mapping[str, str], topic: str, ranges: Ranges, meter: ReadMeter, name: str
) -> DataFrame:
    """The records at these offsets, in the columns of Spark's own reader and under the same isolation level.

    A timestamp that Spark can't represent is null. All records pass through the driver, so read one slice at a time.
    Records are metered under `name`.
    """
    from confluent_kafka import Consumer, TopicPartition

    settings = {
        **client,
        "group.id": client["client.id"],
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        # A deleted offset is an error. Any other setting would skip records silently.
        "auto.offset.reset": "error",
        "isolation.level": SAFE["kafka.isolation.level"],
        "log_level": 0,
        **_fetches(meter.rate, len(ranges)),
    }
    consumer = Consumer(settings)
    try:
        consumer.assign([TopicPartition(topic, number, start) for number, (start, _) in ranges.items()])
        batches = [_batch(messages) for messages in _messages(consumer, ranges, meter, name)]
    finally:
        consumer.close()
    return spark.createDataFrame(pa.Table.from_batches(batches, _COLUMNS))


def _fetches(bytes_per_second: int | None, partitions: int) -> dict[str, str]:
    """Under a limit the C client prefetches as little as the Java one; its default queue is 64 MiB."""
    size = fetch_options(bytes_per_second, partitions).get("kafka.max.partition.fetch.bytes")
    if size is None:
        return {}
    return {
        "fetch.message.max.bytes": size,
        "fetch.max.bytes": str(max(int(size), MESSAGE_BYTES)),
        "message.max.bytes": str(MESSAGE_BYTES),
        "queued.max.messages.kbytes": str(max(1, int(size) >> 10)),
    }


def _messages(consumer: Consumer, ranges: Ranges, meter: ReadMeter, name: str) -> Iterator[list[Message]]:
    """Reads until each partition returned a record after its end, or has no more: the last offsets may be markers."""
    from confluent_kafka import KafkaError

    reading, last_answer = set(ranges), time.monotonic()
    while reading:
        inside = []
        for message in consumer.consume(AT_ONCE if meter.rate is None else AT_ONCE_LIMITED, timeout=1.0):
            last_answer = time.monotonic()
            error, number = message.error(), message.partition()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                raise DriverReadError(f"partition {number}: {error.str()}")
            if error is not None or message.offset() >= ranges[number][1]:
                reading.discard(number)
            elif number in reading:
                inside.append(message)
        if inside:
            meter.passed(name, len(inside), sum(_size(message) for message in inside))
            last_answer = time.monotonic()
            yield inside
        if time.monotonic() - last_answer > PATIENCE:
            raise DriverReadError(f"nothing came from partitions {sorted(reading)} for {PATIENCE:.0f} s")


def _size(message: Message) -> int:
    return len(message.key() or b"") + len(message.value() or b"")


def _batch(messages: list[Message]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([_row(message) for message in messages], _COLUMNS)


def _row(message: Message) -> dict[str, Any]:
    kind, milliseconds = message.timestamp()
    return {
        "key": message.key(),
        "value": message.value(),
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": milliseconds * 1000 if milliseconds <= LATEST else None,
        "timestampType": kind - 1,  # in this client the values begin at 1
        "headers": [{"key": key, "value": value} for key, value in message.headers() or ()] or None,
    }
