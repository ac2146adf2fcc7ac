"""The same project on a Spark standalone cluster, by configuration alone."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from pyspark import SparkContext
from tests.fixtures.broker import KafkaForTests, eventually
from tests.fixtures.spark_cluster import SparkCluster, spark_cluster
from tests.unit.spark.conftest import pipeline, records

from anabranch.adapters.jvm.artifacts import ArtifactCache, locked
from anabranch.adapters.spark.decode.decode import NOT_OF_THE_SCHEMA, decode
from anabranch.adapters.spark.session.session import SparkStartError, start_spark, stop_spark
from anabranch.adapters.spark.transform.load import load_transform, ship
from anabranch.app.project_context import ProjectContext, open_project
from anabranch.doctor.finding import Level
from anabranch.doctor.spark import spark as spark_check
from anabranch.replay.polling import polled

pytestmark = [pytest.mark.cluster, pytest.mark.kafka, pytest.mark.timeout(900)]

PROJECT = """\
apiVersion: anabranch/v1
kind: Project
metadata: {{name: shop}}
spec:
  defaultContext: cluster
  contexts:
    cluster:
      kafka: {{bootstrap: "{bootstrap}"}}
      spark:
        master: {master}
        driverMemory: 512m
        options:
          spark.driver.host: 127.0.0.1
          spark.driver.bindAddress: 127.0.0.1
          spark.executor.memory: 512m
          spark.executor.cores: 1
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    folder = tmp_path_factory.mktemp("cluster")
    with spark_cluster(folder, workers=2) as running:
        yield running
    # Executors and their Python workers are known by where they run.
    left = [each for each in psutil.process_iter(["cwd"]) if (each.info["cwd"] or "").startswith(str(folder))]
    assert left == [], "the cluster left a process behind"


@pytest.fixture
def project_context(cluster: SparkCluster, kafka: KafkaForTests, tmp_path: Path) -> ProjectContext:
    (tmp_path / "anabranch.yaml").write_text(PROJECT.format(bootstrap=kafka.bootstrap, master=cluster.master))
    return open_project(tmp_path)


def test_a_topic_into_a_table_on_two_workers(
    cluster: SparkCluster, kafka: KafkaForTests, project_context: ProjectContext
) -> None:
    from anabranch.adapters.kafka.topics import describe_topic, offset_ranges
    from anabranch.adapters.spark.source.kafka_source import read_offsets

    topic = kafka.create_topic(kafka.unique_name("orders"), partitions=4)
    kafka.produce(topic, ({"value": f"order {n}", "partition": n % 4} for n in range(2000)))
    client = project_context.kafka.client("anabranch-test")
    ranges = offset_ranges(client, describe_topic(client, topic))

    session = project_context.spark("cluster test")
    try:
        assert session.sparkContext.master == cluster.master
        _both_workers_run_our_python(session, cluster)
        _a_limit_holds_for_all_executors_together(session)

        records = read_offsets(
            session,
            bootstrap=project_context.kafka.bootstrap,
            topic=topic,
            ranges=ranges,
            client_id="anabranch-test",
            options=project_context.kafka.spark(),
        )
        session.sql("CREATE NAMESPACE lake.shop")
        shaped = records.selectExpr("partition", "offset", "CAST(value AS STRING) AS value")
        shaped.writeTo("lake.shop.orders").create()
        counted = session.table("lake.shop.orders").count()
    finally:
        stop_spark(session)

    written = project_context.catalog.open().load_table("shop.orders").scan().to_arrow().to_pylist()
    wanted = [(r.partition, r.offset, (r.value or b"").decode()) for r in kafka.read_all(topic)]
    assert len(wanted) == counted == 2000
    assert sorted((row["partition"], row["offset"], row["value"]) for row in written) == sorted(wanted)


def test_a_transform_is_shipped_as_often_as_one_likes(project_context: ProjectContext) -> None:
    (project_context.folder / "transforms").mkdir()
    (project_context.folder / "transforms" / "late.py").write_text("def word():\n    return 'from the project'\n")
    (project_context.folder / "transforms" / "orders.py").write_text("def transform(events):\n    return events\n")
    described = pipeline(project_context.folder, {"at": "timestamp"}, event_time={"field": "at"})

    def late_word(_: int) -> str:
        from transforms.late import word  # type: ignore[import-not-found]

        return str(word())

    session = project_context.spark("cluster test")
    try:
        for _ in range(2):
            ship(session, load_transform(project_context.folder, described), described)
        assert session.sparkContext.parallelize(range(2), 2).map(late_word).collect() == ["from the project"] * 2
    finally:
        stop_spark(session)


def test_values_are_decoded_on_the_workers(project_context: ProjectContext) -> None:
    (project_context.folder / "transforms").mkdir()
    (project_context.folder / "transforms" / "orders.py").write_text("def transform(events):\n    return events\n")
    spec = pipeline(project_context.folder, {"at": "timestamp", "n": "bigint"}, event_time={"field": "at"}).spec
    at = b'"at":"2025-06-01T10:00:00Z"'
    quick, slow, bad = b"{" + at + b',"n":1}', b" {" + at + b',"n":2}', b"{" + at + b',"n":"3"}'

    session = project_context.spark("cluster test")
    try:
        raw = records(session, [quick, slow, bad, None]).repartition(4)
        found = sorted(decode(raw, spec).collect(), key=lambda row: row["_offset"])
    finally:
        stop_spark(session)

    assert [row["n"] for row in found[:2]] == [1, 2]
    assert [row["_reason"] for row in found] == [None, None, NOT_OF_THE_SCHEMA, None]


def test_the_doctor_runs_a_job_on_the_cluster(cluster: SparkCluster, project_context: ProjectContext) -> None:
    finding = spark_check(project_context)
    assert finding.level is Level.GREEN
    assert cluster.master in finding.says
    assert SparkContext._active_spark_context is None, "the doctor left a session"


def test_a_session_that_does_not_start_is_told_in_a_line_and_leaves_no_jvm(
    cluster: SparkCluster, project_context: ProjectContext, tmp_path: Path
) -> None:
    before = set(psutil.Process().children(recursive=True))
    with pytest.raises(SparkStartError) as failed:
        start_spark(
            "broken",
            master=cluster.master,
            jars=ArtifactCache().fetch(locked("spark")),
            options={"spark.driver.host": "127.0.0.1", "spark.executor.memory": "much"},
            log=tmp_path / "spark.log",
            driver_memory="512m",
        )
    assert failed.value.cause is not None
    assert "much" in failed.value.cause
    assert "\n" not in failed.value.cause
    assert set(psutil.Process().children(recursive=True)) == before


def _a_limit_holds_for_all_executors_together(session: object) -> None:
    """Executors report what they read, and share the limit that the driver has now."""
    from pyspark.sql import SparkSession

    from anabranch.adapters.spark.source.read_meter import ReadMeter

    assert isinstance(session, SparkSession)
    rate, total = 200_000, 3_000
    meter = ReadMeter(session, "anabranch-cluster-test")
    record = ("cast(null as binary) key", "cast(repeat('x', 1000) as binary) value")
    frame = meter.on(session.range(0, total, 1, 4).selectExpr(*record), "s00000")
    meter.limit(rate)
    seen: list[tuple[float, float, int]] = []

    def sample() -> None:
        before = time.monotonic()
        read = meter.bytes
        seen.append((before, time.monotonic(), read))
        if read > 5 * rate:
            meter.limit(None)

    with polled(sample, 0.1):
        assert frame.count() == total
    slow = [each for each in seen if each[2] <= 5 * rate]
    rates = [(last[2] - first[2]) / (last[1] - first[0]) for first in slow for last in slow if last[1] - first[0] >= 2]
    assert rate * 0.6 <= max(rates) <= rate * 1.3
    eventually(lambda: (meter.records("s00000"), meter.bytes) == (total, total * 1000))


def _both_workers_run_our_python(session: object, cluster: SparkCluster) -> None:
    """A Python function on every worker says where it runs and on which interpreter."""
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import udf

    assert isinstance(session, SparkSession)

    @udf("string")
    def whereabouts(_n: int) -> str:
        import os
        import sys
        import time

        time.sleep(0.2)  # long enough that one free core does not take all the tasks
        return f"{sys.executable}|{os.getcwd()}"  # noqa: PTH109

    seen: set[str] = set()

    def everywhere() -> bool:
        rows = session.range(0, 6, 1, 6).select(whereabouts("id").alias("at")).collect()
        seen.update(row["at"] for row in rows)
        folders = {str(cluster.worker_folder(number)) for number in range(2)}
        return all(any(f"|{folder}/" in place for place in seen) for folder in folders)

    # The first executor may be there long before the second.
    eventually(everywhere, seconds=180)
    assert {place.split("|")[0] for place in seen} == {sys.executable}
