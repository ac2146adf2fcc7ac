"""Live's batches on a real topic: the same rows as plain Python makes, once, whatever the checkpoint remembers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path

import pytest
from pyiceberg.table import Table
from tests.fixtures.broker import KafkaForTests, Record, eventually
from tests.fixtures.spark import SparkForTests
from tests.integration.live.shop import (
    POISON,
    assert_tiled,
    expected_rows,
    group_offsets,
    live_offsets,
    orders,
    poisoned,
    rows_of,
    set_aside,
    shop_project,
)

from anabranch.adapters.checkpoints.log import is_committed
from anabranch.adapters.iceberg.live import last_live_commit
from anabranch.adapters.kafka.groups import GroupProgress
from anabranch.adapters.kafka.topics import TopicMissingError, describe_topic
from anabranch.adapters.spark.source.zone_counter import SparkZoneCounter
from anabranch.adapters.spark.transform.errors import TransformFailedError
from anabranch.adapters.spark.transform.load import load_transform
from anabranch.adapters.spark.write.quarantine import QuarantineFullError, QuarantineTable
from anabranch.adapters.spark.write.target_table import ensure_target
from anabranch.app.project_context import ProjectContext
from anabranch.contract.load import load_pipelines
from anabranch.live.batch import BatchWriter
from anabranch.live.errors import OutOfStepError, TopicRecreatedError
from anabranch.live.pace import LivePace
from anabranch.live.progress import ProgressKeeper, load_progress
from anabranch.live.query import start_query, starting_offsets
from anabranch.live.topic import same_topic
from anabranch.plan.offsets.zones import Zone, combine
from anabranch.plan.slices import Slice
from anabranch.plan.target_range import EPOCH

PATIENCE = 600
pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(1200)]


class LiveHere:
    """Live of one pipeline in this process, on the test run's session and catalog."""

    def __init__(self, spark: SparkForTests, kafka: KafkaForTests, project_context: ProjectContext, topic: str) -> None:
        self.spark, self.kafka, self.project_context, self.topic = spark, kafka, project_context, topic
        self.pipeline = load_pipelines(project_context.loaded)["orders"].pipeline
        self.transform = load_transform(project_context.folder, self.pipeline)
        self.columns = ensure_target(spark.session, spark.catalog, self.pipeline, self.transform)
        QuarantineTable(spark.catalog, self.pipeline).prepare(spark.session)
        self.checkpoint = project_context.state.resolve() / "checkpoint"
        self.progress = project_context.state / "progress.json"
        self.zones: list[Zone] = []
        """What live has told of each batch that it wrote."""

    @property
    def table(self) -> Table:
        return self.spark.catalog.open().load_table(self.pipeline.spec.target.table)

    @property
    def quarantine(self) -> Table:
        return self.spark.catalog.open().load_table(f"{self.pipeline.spec.target.table}__quarantine")

    def run(self, until: Callable[[BatchWriter], bool], max_offsets: int = 700) -> BatchWriter:
        """Run a query until that holds or it ends by itself."""
        client = self.project_context.kafka.client("tests")
        topic = describe_topic(client, self.topic)
        with GroupProgress(client, self.pipeline.spec.consumer_group, self.topic) as group:
            keeper = ProgressKeeper(self.progress, group.commit, lambda _words: None)
            writer = BatchWriter(
                catalog=self.spark.catalog,
                pipeline=self.pipeline,
                transform=self.transform,
                columns=self.columns,
                topic=topic.uuid,
                checkpoint=self.checkpoint,
                still_same_topic=lambda: None,
                commit_group=keeper.commit_group,
                report=keeper.report,
                keep_zones=self.zones.extend,
            )
            starting = starting_offsets(topic, last_live_commit(self.table, "orders"))
            pace = LivePace(0.1, max_offsets)
            kafka = self.project_context.kafka
            query = start_query(self.spark.session, kafka, "orders", topic, starting, self.checkpoint, pace, writer)
            try:
                eventually(lambda: not query.isActive or until(writer), PATIENCE)
                writer.finish()
            finally:
                query.stop()
        return writer

    def built_zones(self) -> tuple[Zone, ...]:
        client = describe_topic(self.project_context.kafka.client("tests"), self.topic)
        counter = SparkZoneCounter(
            self.spark.session, self.project_context.kafka, self.pipeline.spec, client, "anabranch-zones-test"
        )
        ends = {partition: (0, end) for partition, end in self.ends().items() if end}
        return combine(counter.count(Slice("all", ends)))

    def caught_up(self) -> Callable[[BatchWriter], bool]:
        """Whether the table stands at the end of what is in the topic now, and Spark has noted the batch."""
        ends = self.ends()

        def holds(writer: BatchWriter) -> bool:
            last = last_live_commit(self.table, "orders") if writer.last is not None else None
            return last is not None and last.position == ends and is_committed(self.checkpoint, last.batch)

        return holds

    def ends(self) -> dict[int, int]:
        from confluent_kafka import Consumer, TopicPartition

        client = {"bootstrap.servers": self.kafka.bootstrap, "group.id": "ends", "log_level": 0}
        consumer = Consumer({**client, "isolation.level": "read_committed"})
        try:
            marks = {p: consumer.get_watermark_offsets(TopicPartition(self.topic, p), timeout=30) for p in range(3)}
            return {partition: high for partition, (_, high) in marks.items()}
        finally:
            consumer.close()

    def assert_exact(self) -> None:
        records = self.kafka.read_all(self.topic)
        found, wanted = rows_of(self.table), expected_rows(records)
        assert found == wanted, f"missing {wanted - found}, too many {found - wanted}"
        assert set_aside(self.quarantine) == poisoned(records)
        assert_tiled(live_offsets(self.table), self.ends())


@pytest.fixture
def live(spark: SparkForTests, kafka: KafkaForTests, tmp_path: Path) -> LiveHere:
    topic = kafka.create_topic(kafka.unique_name("orders"), 3)
    table = f"live.{topic.replace('-', '_')}"
    project_context = shop_project(tmp_path / "shop", kafka, topic, table=table)
    project_context.state.mkdir()
    return LiveHere(spark, kafka, project_context, topic)


Counted = dict[int, tuple[int, int, int, int, int]]
"""Of each partition: records, those without event time, bytes, and the first and last event time (µs)."""


def counted(zones: Iterable[Zone]) -> Counted:
    found: Counted = {}
    for partition, same in groupby(zones, key=lambda zone: zone.partition):
        mine = list(same)
        spans = [span for zone in mine for span in zone.spans]
        counts = (sum(z.count for z in mine), sum(z.nulls for z in mine), sum(z.bytes for z in mine))
        found[partition] = (*counts, min(s.low for s in spans), max(s.high for s in spans))
    return found


def counted_by_hand(records: Iterable[Record]) -> Counted:
    found: Counted = {}
    for partition, same in groupby(sorted(records, key=lambda r: r.partition), key=lambda r: r.partition):
        mine = list(same)
        good = [json.loads(r.value) for r in mine if r.value is not None and r.value not in POISON]
        events = [micros_of(order["ordered_at"]) for order in good]
        size = sum(len(r.key or b"") + len(r.value or b"") for r in mine)
        found[partition] = (len(mine), len(mine) - len(good), size, min(events), max(events))
    return found


def micros_of(text: str) -> int:
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1)


def produce_in_transactions(kafka: KafkaForTests, topic: str, numbers: range) -> None:
    """Every third transaction is aborted, and the log ends with the markers of one."""
    from confluent_kafka import Producer

    settings = {"bootstrap.servers": kafka.bootstrap, "transactional.id": f"{topic}-tx", "log_level": 0}
    producer = Producer(settings)
    producer.init_transactions(30)
    for start in range(numbers.start, numbers.stop, 50):
        producer.begin_transaction()
        for record in orders(range(start, start + 50)):
            producer.produce(topic, **record)
        producer.flush(30)
        if start // 50 % 3 == 2:
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)


@pytest.mark.long
def test_the_rows_are_those_of_plain_python_once_whatever_the_checkpoint_says(live: LiveHere) -> None:
    kafka, topic = live.kafka, live.topic
    kafka.produce(topic, orders(range(1, 1500)))
    produce_in_transactions(kafka, topic, range(2000, 2600))

    first = live.run(live.caught_up())
    assert first.failure is None
    assert first.last is not None
    assert first.last >= 2, "several batches were wanted"
    live.assert_exact()
    assert group_offsets(kafka, live.pipeline.spec.consumer_group, topic) == live.ends()
    said = live.table.current_snapshot()
    assert said is not None
    assert said.summary is not None
    assert said.summary.additional_properties["anabranch.code"] == live.transform.digest
    progress = load_progress(live.progress)
    assert progress is not None
    assert progress.rows == rows_of(live.table).total()
    assert progress.records == len(kafka.read_all(topic))
    assert progress.quarantined == poisoned(kafka.read_all(topic)).total()
    kept = combine(live.zones)
    assert counted(kept) == counted_by_hand(kafka.read_all(topic))
    assert kept == live.built_zones(), "what live keeps is what a build counts"

    # The batch is in the table and not in Spark's log, as after a kill between the two.
    (live.checkpoint / "commits" / str(first.last)).unlink()
    (live.checkpoint / "commits" / f".{first.last}.crc").unlink()
    shutil.copytree(live.checkpoint, live.checkpoint.with_name("old"))
    snapshots = len(live.table.metadata.snapshots)
    again = live.run(lambda writer: writer.last == first.last and is_committed(live.checkpoint, first.last or 0))
    assert again.failure is None
    assert len(live.table.metadata.snapshots) == snapshots, "the batch was written again"

    # The checkpoint is gone altogether: the table says where to go on.
    shutil.rmtree(live.checkpoint)
    kafka.produce(topic, orders(range(3000, 3300)))
    beyond = live.run(live.caught_up())
    assert beyond.failure is None
    live.assert_exact()

    # A checkpoint from before: going on with it would write the last batches twice.
    shutil.rmtree(live.checkpoint)
    shutil.copytree(live.checkpoint.with_name("old"), live.checkpoint)
    behind = live.run(lambda writer: writer.last is not None)
    assert isinstance(behind.failure, OutOfStepError)
    live.assert_exact()


def test_too_much_poison_ends_the_query_before_anything_of_the_batch_is_written(live: LiveHere) -> None:
    live.kafka.produce(live.topic, [{"value": b"poison", "partition": 1} for _ in range(1001)])

    ended = live.run(lambda writer: writer.last is not None, 5000)

    assert isinstance(ended.failure, QuarantineFullError)
    assert live_offsets(live.table) == []
    assert set_aside(live.quarantine).total() == 0


def test_a_transform_that_fails_on_a_record_ends_the_query_with_its_line(live: LiveHere) -> None:
    file = live.project_context.folder / "transforms" / "orders.py"
    text = file.read_text()
    broken = text.replace('"customer",', 'F.col("customer").cast("int").cast("string").alias("customer"),')
    assert broken != text
    file.write_text(broken)
    live.transform = load_transform(live.project_context.folder, live.pipeline)
    live.kafka.produce(live.topic, orders(range(1, 20)))

    ended = live.run(lambda writer: writer.last is not None)

    line = next(n for n, words in enumerate(broken.splitlines(), 1) if "cast" in words)
    assert isinstance(ended.failure, TransformFailedError)
    assert f"transforms/orders.py:{line}" in ended.failure.what
    assert live_offsets(live.table) == []


def is_there(client: dict[str, str], topic: str) -> bool:
    """Brokers hear of a new topic one after the other, and for a moment may still say that there is none."""
    try:
        return bool(describe_topic(client, topic).partitions)
    except TopicMissingError:
        return False


def test_a_topic_made_again_is_refused(kafka: KafkaForTests, tmp_path: Path) -> None:
    from confluent_kafka.admin import AdminClient

    topic = kafka.create_topic(kafka.unique_name("remade"))
    client = {"bootstrap.servers": kafka.bootstrap}
    remembered = tmp_path / "topic.json"
    first = same_topic(client, topic, remembered)
    assert same_topic(client, topic, remembered) == first
    deleter = AdminClient(client)
    deleter.delete_topics([topic])[topic].result(30)
    eventually(lambda: topic not in deleter.list_topics(timeout=30).topics)
    kafka.create_topic(topic)
    eventually(lambda: is_there(client, topic))

    with pytest.raises(TopicRecreatedError):
        same_topic(client, topic, remembered)
