"""A shop with a currency bug: a topic, a table that live has filled, and backfills of it on the one Spark session."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from confluent_kafka import KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import HourTransform
from pyiceberg.types import DecimalType, NestedField, StringType, TimestamptzType

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.live import TOPIC, live_commit_id
from anabranch.app.backfill import BackfillRun
from anabranch.contract.code import code_digest
from anabranch.errors import AnabranchError
from tests.fixtures.broker import QUIET, KafkaForTests, Record, eventually
from tests.fixtures.project import ALONE
from tests.fixtures.spark import SparkForTests
from tests.scenarios.backfills import JUNE, SECONDS, Backfills, Onlooker, edit, open_scene, write_scene
from tests.scenarios.checker import BUGGY, FIXED, Offsets, Rows, between, differences, recomputed

START, END = JUNE + timedelta(hours=2), JUNE + timedelta(hours=4)
"""The range, as whole partitions of the table. What is asked for is a little less."""
TABLE = "shop.orders"
OTHER_CODE = "b" * 64
SCHEMA = Schema(
    NestedField(1, "order_id", StringType()),
    NestedField(2, "customer", StringType()),
    NestedField(3, "currency", StringType()),
    NestedField(4, "amount", DecimalType(18, 2)),
    NestedField(5, "amount_eur", DecimalType(18, 2)),
    NestedField(6, "ordered_at", TimestamptzType()),
)
BY_HOUR = PartitionSpec(PartitionField(6, 1000, HourTransform(), "ordered_at_hour"))
COLUMNS = tuple(column.name for column in SCHEMA.fields)
CONTRACT = {
    "apiVersion": "anabranch/v1",
    "kind": "Backfill",
    "metadata": {"name": "fix"},
    "spec": {
        "pipeline": "orders",
        "reason": "pounds at the dollar's rate",
        "owner": "shop",
        "range": {"eventTime": {"from": "2025-06-01T02:10:00Z", "to": "2025-06-01T03:50:00Z"}},
        "validation": {"notNull": ["order_id", "ordered_at"]},
        "rollback": {"authority": "oncall"},
    },
}


def order(number: int, at: datetime, partition: int = 0, stamped: datetime | None = None) -> dict[str, Any]:
    """A record to produce. Every third order is in pounds."""
    value = {
        "order_id": f"o{number}",
        "customer": ("ada", "žofie", "李")[number % 3],
        "currency": ("GBP", "EUR", "USD")[number % 3],
        "amount": number / 4 + 0.05,
        "ordered_at": at.isoformat(),
    }
    written = json.dumps(value).encode()
    return {"value": written, "partition": partition, "timestamp": round((stamped or at).timestamp() * 1000)}


def hours(of: Iterable[int] = range(6), each: int = 20, partitions: int = 2, begin: int = 0) -> list[dict[str, Any]]:
    """Orders of these hours, a little out of order, dealt out to the partitions."""
    step = timedelta(hours=1) / each
    moments = [JUNE + hour * timedelta(hours=1) + n * step for hour in of for n in range(each)]
    shuffled = [moments[i ^ 1] if (i ^ 1) < len(moments) else moments[i] for i in range(len(moments))]
    return [order(begin + i, at, i % partitions) for i, at in enumerate(shuffled)]


@dataclass
class Shop(Backfills):
    table_name: ClassVar[str] = TABLE
    pipeline_name: ClassVar[str] = "orders"
    columns: ClassVar[tuple[str, ...]] = COLUMNS

    batch: int = 0
    live_offsets: list[tuple[Offsets, Mapping[str, str]]] = field(default_factory=list)
    """What live has written, oldest first, and by which rates."""

    @classmethod
    def open(
        cls,
        folder: Path,
        kafka: KafkaForTests,
        spark: SparkForTests,
        *,
        partitions: int = 2,
        config: Mapping[str, str] | None = None,
        pipeline: Mapping[str, str] | None = None,
        approval: str = ALONE,
        partitioned: PartitionSpec = BY_HOUR,
    ) -> Shop:
        """A project from the template, with a topic and a catalog of its own that the shared session knows."""
        topic = kafka.create_topic(kafka.unique_name("orders"), partitions, {"retention.ms": "-1", **(config or {})})
        write_scene(folder, "shop", kafka, approval)
        said = {"topic: shop.orders": f"topic: {topic}", "slack: 1h": "slack: 10m", **(pipeline or {})}
        edit(folder / "pipelines" / "orders.yaml", said)
        (folder / "contracts" / "fix.yaml").write_text(json.dumps(CONTRACT))
        project_context = open_scene(folder, spark)
        tables = project_context.catalog.open()
        tables.create_namespace("shop")
        tables.create_table(TABLE, SCHEMA, partition_spec=partitioned)
        return cls(project_context, kafka, topic, project_context.store(), spark)

    # The topic.

    def produce(self, records: Sequence[Mapping[str, Any]]) -> None:
        self.kafka.produce(self.topic, records)

    def records(self, isolation: str = "read_committed") -> list[Record]:
        return self.kafka.read_all(self.topic, isolation)

    @property
    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.kafka.bootstrap, **QUIET})

    @property
    def topic_uuid(self) -> str:
        client = self.admin
        told = client.describe_topics(TopicCollection([self.topic]), request_timeout=SECONDS)[self.topic]
        return str(told.result(SECONDS).topic_id)

    def transaction(self, records: Sequence[Mapping[str, Any]], *, commit: bool) -> None:
        name = self.kafka.unique_name("tx")
        producer = Producer({"bootstrap.servers": self.kafka.bootstrap, "transactional.id": name, **QUIET})
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
        for record in records:
            producer.produce(self.topic, **record)
        producer.flush(SECONDS)
        (producer.commit_transaction if commit else producer.abort_transaction)(SECONDS)
        # The broker answers before it has written the marker, and until then hides what comes after.
        eventually(lambda: self.ends() == self.ends("read_uncommitted"))

    def recreate_topic(self, records: Sequence[Mapping[str, Any]], partitions: int = 2) -> None:
        """The same name, other records at the same offsets."""
        was, client = self.topic_uuid, self.admin
        client.delete_topics([self.topic])[self.topic].result(SECONDS)

        def made_anew() -> bool:
            try:
                self.kafka.create_topic(self.topic, partitions, {"retention.ms": "-1"})
            except KafkaException:
                return False  # the former one is still being deleted
            return True

        def is_another() -> bool:
            try:
                return self.topic_uuid != was
            except KafkaException:
                return False  # the broker does not know it yet

        eventually(made_anew)
        eventually(is_another)
        self.produce(records)

    def add_partitions(self, total: int) -> None:
        client = self.admin
        client.create_partitions([NewPartitions(self.topic, total)])[self.topic].result(SECONDS)
        eventually(lambda: len(self.ends()) == total)

    def delete_records(self, before: Mapping[int, int]) -> None:
        """What retention does, at once."""
        client = self.admin
        asked = [TopicPartition(self.topic, partition, offset) for partition, offset in before.items()]
        for answer in client.delete_records(asked, request_timeout=SECONDS).values():
            answer.result(SECONDS)

    # Live, and the table.

    @property
    def code(self) -> str:
        """Digest of the project's own transform, which is the corrected one."""
        return code_digest(self.project_context.folder, self.pipeline)

    def live(self, *, rates: Mapping[str, str] = BUGGY, code: str | None = OTHER_CODE) -> Rows:
        """One commit of live with everything that came since its last one; returns its rows."""
        ends, reached = self.ends(), self.live_position
        offsets = {p: (reached.get(p, 0), end) for p, end in ends.items() if reached.get(p, 0) < end}
        rows = recomputed(self.records(), rates, offsets)
        said = {
            props.AUTHOR: "live",
            props.PIPELINE: "orders",
            props.CODE: self.code if code is None else code,
            props.QUERY: "q",
            props.BATCH: str(self.batch),
            props.COMMIT: live_commit_id("q", self.batch),
            props.OFFSETS: props.write_offsets({p: (reached.get(p, 0), end) for p, end in ends.items()}),
            TOPIC: self.topic_uuid,
        }
        self.batch += 1
        self.live_offsets.append((offsets, rates))
        self.write(rows, said)
        return rows

    def live_fixed(self) -> Rows:
        """One commit of live after it was restarted with the corrected code."""
        return self.live(rates=FIXED, code=None)

    @property
    def live_position(self) -> dict[int, int]:
        return {p: end for offsets, _ in self.live_offsets for p, (_, end) in offsets.items()}

    def write(self, rows: Rows, said: Mapping[str, str], branch: str = "main") -> None:
        listed = [dict(zip(COLUMNS, row, strict=True)) for row in rows.elements()]
        table = pa.Table.from_pylist(listed, schema=SCHEMA.as_arrow())
        self.table().append(table, snapshot_properties=dict(said), branch=branch)

    def call(self, procedure: str, **arguments: str) -> None:
        """One of Iceberg's procedures, on Spark, as an operator of the table would."""
        given = ", ".join(f"{name} => {value}" for name, value in {"table": f"'{TABLE}'", **arguments}.items())
        self.spark.session.sql(f"CALL {self.project_context.catalog.name}.system.{procedure}({given})").collect()

    def compact(self) -> None:
        """Every data file written anew, so that all rows of an hour share one."""
        self.call("rewrite_data_files", options="map('rewrite-all','true')")

    def expire(self) -> None:
        """Every snapshot that no ref protects."""
        later = (datetime.now(timezone.utc) + timedelta(minutes=1)).strftime("%Y-%m-%d %H:%M:%S")
        self.call("expire_snapshots", older_than=f"TIMESTAMP '{later}'", retain_last="1")

    # What must be so, by the checker's own account.

    def former(self) -> Rows:
        """What live has written, and nobody has corrected."""
        records = self.records()
        return sum((recomputed(records, rates, offsets) for offsets, rates in self.live_offsets), Counter())

    def corrected(self) -> Rows:
        """The range by the corrected code, from every event that live has written; all else as live wrote it."""
        records, former = self.records(), self.former()
        written = {p: (0, end) for p, end in self.live_position.items()}
        inside = between(recomputed(records, FIXED, written), START, END)
        return former - between(former, START, END) + inside

    def require(self, expected: Rows, ref: str = "main") -> None:
        assert differences(expected, self.rows(ref)) == ""

    def staged_ledger(self, run: BackfillRun) -> Counter[str]:
        """The fates of all staged offsets together."""
        sums: Counter[str] = Counter()
        with run.lease() as lease:
            for each in run.staged(run.staging(lease)):
                for account in each.ledger.accounts.values():
                    sums.update(account.document())
        return sums

    def quarantined(self) -> list[dict[str, Any]]:
        tables = self.project_context.catalog.open()
        if not tables.table_exists(f"{TABLE}__quarantine"):
            return []
        found = tables.load_table(f"{TABLE}__quarantine").scan().to_arrow().to_pylist()
        return sorted(found, key=lambda row: (row["partition"], row["offset"]))


def staged_slices(run: BackfillRun) -> int:
    with run.lease() as lease:
        return len(run.staged(run.staging(lease)))


def refusal(command: Callable[[BackfillRun, Onlooker], object], run: BackfillRun, watch: Onlooker) -> AnabranchError:
    """The error that a command ends with."""
    with pytest.raises(AnabranchError) as refused:
        command(run, watch)
    return refused.value
