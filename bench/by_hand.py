"""The contestants: what a good engineer writes by hand to bring a topic into a table, with nothing of ours in it."""

from __future__ import annotations

import tempfile

from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

SCHEMA = "order_id string, customer string, currency string, amount decimal(18,2), ordered_at timestamp"
RATES = {"EUR": "1.0000", "USD": "0.9200", "GBP": "1.1700", "CHF": "1.0500"}

TUNED_READ = {
    "kafka.max.poll.records": "20000",
    "kafka.fetch.min.bytes": str(1 << 20),
    "kafka.fetch.max.bytes": str(64 << 20),
    "kafka.max.partition.fetch.bytes": str(16 << 20),
    "kafka.receive.buffer.bytes": str(1 << 20),
}
TUNED_WRITE = {"fanout-enabled": "true", "distribution-mode": "hash"}
"""Faster here than with no shuffle at all: few large files instead of many small ones."""


def create(spark: SparkSession, table: str) -> None:
    texts = "order_id string, customer string, currency string"
    columns = f"{texts}, amount decimal(18,2), amount_eur decimal(18,2), ordered_at timestamp"
    spark.sql(f"DROP TABLE IF EXISTS {table}")
    spark.sql(f"CREATE TABLE {table} ({columns}) USING iceberg PARTITIONED BY (hours(ordered_at))")


def plain_batch(spark: SparkSession, bootstrap: str, topic: str, table: str) -> None:
    raw = spark.read.format("kafka").options(**source(bootstrap, topic)).load()
    rows(raw).writeTo(table).append()


def tuned_batch(spark: SparkSession, bootstrap: str, topic: str, table: str) -> None:
    raw = spark.read.format("kafka").options(**source(bootstrap, topic), **TUNED_READ).load()
    rows(raw).writeTo(table).options(**TUNED_WRITE).append()


def plain_stream(spark: SparkSession, bootstrap: str, topic: str, table: str) -> None:
    raw = spark.readStream.format("kafka").options(**source(bootstrap, topic)).load()
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = rows(raw).writeStream.format("iceberg").outputMode("append").trigger(availableNow=True)
        query = writer.options(checkpointLocation=checkpoint, **{"fanout-enabled": "true"}).toTable(table)
        query.awaitTermination()


def bare_consumer(bootstrap: str, topic: str, partitions: int, total: int) -> None:
    """No decoding, no table: how fast records come out of the broker at all."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "bench", "enable.auto.commit": False}
    # Without it the client rests for a second whenever it has read ahead far enough: a fifth of the speed.
    consumer = Consumer({**settings, "fetch.queue.backoff.ms": 1})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
    seen = 0
    while seen < total:
        seen += len(consumer.consume(10_000, timeout=10))
    consumer.close()


def source(bootstrap: str, topic: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "startingOffsets": "earliest"}


def rows(raw: DataFrame) -> DataFrame:
    orders = raw.select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("order")).select("order.*")
    return orders.select(
        "order_id",
        "customer",
        "currency",
        "amount",
        (F.col("amount") * _rate()).cast("decimal(18,2)").alias("amount_eur"),
        "ordered_at",
    )


def _rate() -> Column:
    rate = F.lit(None).cast("decimal(10,4)")
    for currency, euros in RATES.items():
        rate = F.when(F.col("currency") == currency, F.lit(euros).cast("decimal(10,4)")).otherwise(rate)
    return rate
