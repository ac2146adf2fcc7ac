"""A project on the test run's broker, with a catalog of its own: topics by a plain producer, tables by PyIceberg."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyiceberg.catalog import Catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import DayTransform, Transform
from pyiceberg.types import DateType, NestedField, StringType, TimestamptzType
from tests.fixtures.broker import QUIET, KafkaForTests

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.embedded import EmbeddedCatalog
from anabranch.project.scaffold import plan_project, write_project

JUNE = datetime(2025, 6, 1, tzinfo=timezone.utc)
HOUR, DAY, MINUTE = timedelta(hours=1), timedelta(days=1), timedelta(minutes=1)
SECONDS = 30
FOR_EVER = {"retention.ms": "-1"}
SCHEMA = Schema(
    NestedField(1, "order_id", StringType()),
    NestedField(2, "ordered_at", TimestamptzType()),
    NestedField(3, "day", DateType()),
)
BY_DAY = PartitionSpec(PartitionField(2, 1000, DayTransform(), "ordered_at_day"))


@dataclass(frozen=True)
class Event:
    """What happened when, and when the producer says that it wrote it down."""

    at: datetime
    stamped: datetime
    partition: int = 0
    key: str | None = None

    @classmethod
    def on_time(cls, at: datetime, partition: int = 0, key: str | None = None) -> Event:
        return cls(at, at, partition, key)

    def record(self, number: int) -> dict[str, Any]:
        value = {"order_id": f"o{number}", "ordered_at": self.at.isoformat()}
        return {
            "value": json.dumps(value).encode(),
            "key": self.key,
            "partition": self.partition,
            "timestamp": round(self.stamped.timestamp() * 1000),
        }


def every(step: timedelta, start: datetime, end: datetime, partition: int = 0) -> list[Event]:
    return [Event.on_time(start + n * step, partition) for n in range((end - start) // step)]


@dataclass(frozen=True)
class Shop:
    folder: Path
    kafka: KafkaForTests

    @classmethod
    def open(cls, folder: Path, kafka: KafkaForTests) -> Shop:
        write_project(plan_project(folder, "shop"))
        project = folder / "anabranch.yaml"
        project.write_text(project.read_text().replace("bootstrap: embedded", f"bootstrap: {kafka.bootstrap}", 1))
        for sample in ("pipelines", "contracts"):
            for file in (folder / sample).iterdir():
                file.unlink()
        EmbeddedCatalog.below(folder / ".anabranch").create()
        shop = cls(folder, kafka)
        shop.catalog.create_namespace("shop")
        return shop

    @property
    def catalog(self) -> Catalog:
        return EmbeddedCatalog.below(self.folder / ".anabranch").catalog("lake").open()

    def pipeline(self, name: str, topic: str, table: str | None = None, **spec: Any) -> str:
        """Written as JSON, which is YAML too. The table is named after the pipeline."""
        document = {
            "apiVersion": "anabranch/v1",
            "kind": "Pipeline",
            "metadata": {"name": name},
            "spec": {
                "class": "stateless",
                "owner": "shop",
                "source": {"topic": topic, "schema": {"order_id": "string", "ordered_at": "timestamp"}},
                "eventTime": {"field": "ordered_at", "slack": "30m"},
                "transform": {"python": "transforms.orders:transform"},
                "target": {"table": table or self.table_name(name)},
                "consumerGroup": f"group-{name}",
                **spec,
            },
        }
        (self.folder / "pipelines" / f"{name}.yaml").write_text(json.dumps(document))
        return name

    def contract(self, pipeline: str, start: datetime, end: datetime, **spec: Any) -> Path:
        document = {
            "apiVersion": "anabranch/v1",
            "kind": "Backfill",
            "metadata": {"name": "fix"},
            "spec": {
                "pipeline": pipeline,
                "reason": "wrong",
                "owner": "shop",
                "range": {"eventTime": {"from": start.isoformat(), "to": end.isoformat()}},
                "rollback": {"authority": "oncall"},
                **spec,
            },
        }
        file = self.folder / "contracts" / "fix.yaml"
        file.write_text(json.dumps(document))
        return file

    @staticmethod
    def table_name(pipeline: str) -> str:
        return f"shop.{pipeline.replace('-', '_')}"

    def topic(self, events: Iterable[Event], partitions: int = 1, config: Mapping[str, str] = FOR_EVER) -> str:
        name = self.kafka.create_topic(self.kafka.unique_name("plan"), partitions, config)
        self.kafka.produce(name, [event.record(number) for number, event in enumerate(events)])
        return name

    def transactions(self, topic: str, batches: Iterable[tuple[list[Event], bool]]) -> None:
        """Each batch is one transaction, committed or aborted."""
        producer = Producer(
            {"bootstrap.servers": self.kafka.bootstrap, "transactional.id": self.kafka.unique_name("tx"), **QUIET}
        )
        producer.init_transactions(SECONDS)
        for number, (events, commit) in enumerate(batches):
            producer.begin_transaction()
            for event in events:
                producer.produce(topic, **event.record(number))
            producer.flush(SECONDS)
            (producer.commit_transaction if commit else producer.abort_transaction)(SECONDS)

    def table(self, pipeline: str, spec: PartitionSpec = BY_DAY) -> Table:
        return self.catalog.create_table(self.table_name(pipeline), SCHEMA, partition_spec=spec)

    def write(self, pipeline: str, moments: Iterable[datetime], said: Mapping[str, str] | None = None) -> int:
        """One commit of one row a moment; returns its snapshot."""
        rows = [{"order_id": "x", "ordered_at": at, "day": at.date()} for at in moments]
        table = self.catalog.load_table(self.table_name(pipeline))
        table.append(pa.Table.from_pylist(rows, schema=SCHEMA.as_arrow()), snapshot_properties=dict(said or {}))
        head = table.current_snapshot()
        assert head is not None
        return head.snapshot_id

    def live(self, pipeline: str, moments: Iterable[datetime], offsets: Mapping[int, tuple[int, int]]) -> int:
        said = {props.AUTHOR: "live", props.PIPELINE: pipeline, props.OFFSETS: props.write_offsets(offsets)}
        return self.write(pipeline, moments, said)

    def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        """What retention does, at once."""
        client = AdminClient({"bootstrap.servers": self.kafka.bootstrap, **QUIET})
        asked = [TopicPartition(topic, partition, offset) for partition, offset in before.items()]
        for answer in client.delete_records(asked, request_timeout=SECONDS).values():
            answer.result(SECONDS)

    def fingerprint(self) -> dict[str, object]:
        """All that planning could have touched: groups, topics, the catalog, every file of the project."""
        client = AdminClient({"bootstrap.servers": self.kafka.bootstrap, **QUIET})
        groups = client.list_consumer_groups(request_timeout=SECONDS).result(SECONDS).valid
        topics = client.list_topics(timeout=SECONDS).topics
        catalog = self.catalog
        tables = [name for space in catalog.list_namespaces() for name in catalog.list_tables(space)]
        return {
            "groups": sorted(group.group_id for group in groups),
            "topics": sorted((name, len(topic.partitions)) for name, topic in topics.items()),
            "tables": sorted((str(name), catalog.load_table(name).metadata_location) for name in tables),
            "files": {
                str(path.relative_to(self.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
                for path in sorted(self.folder.rglob("*"))
                if path.is_file()
            },
        }


def partitioned(source: int, transform: Transform[Any, Any], name: str) -> PartitionSpec:
    return PartitionSpec(PartitionField(source, 1000, transform, name))
