"""A process of its own with Spark as it comes: nothing of our settings helps the contestants that run in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection

from bench import by_hand
from pyspark.sql import SparkSession


@dataclass(frozen=True)
class PlainSession:
    calls: Connection

    def run(self, name: str, bootstrap: str, topic: str, table: str) -> None:
        """One contestant, by its name in `by_hand`, into a table of its own."""
        self.calls.send((name, bootstrap, topic, table))
        failed = self.calls.recv()
        if failed is not None:
            raise AssertionError(f"{name}: {failed}")


@contextmanager
def plain_session(jars: Sequence[str], catalog: Mapping[str, str], memory: str) -> Iterator[PlainSession]:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, list(jars), dict(catalog), memory), daemon=True)
    process.start()
    try:
        yield PlainSession(ours)
    finally:
        process.terminate()
        process.join()


def _serve(calls: Connection, jars: list[str], catalog: dict[str, str], memory: str) -> None:
    settings = {
        "spark.jars": ",".join(jars),
        "spark.driver.memory": memory,
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[*]").appName("by hand")
    for name, value in {**settings, **catalog}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    while True:
        name, *where, table = calls.recv()
        try:
            by_hand.create(spark, table)
            getattr(by_hand, name)(spark, *where, table)
            calls.send(None)
        except Exception as error:
            calls.send(str(error))
