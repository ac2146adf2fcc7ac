"""A shop whose orders come out of order, and what must be in its table by plain Python: no code of the product's."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

from pyiceberg.table import Table
from tests.fixtures.broker import KafkaForTests, Record

from anabranch.app.project_context import ProjectContext, open_project
from anabranch.project.scaffold import plan_project, write_project

RATES = {"EUR": "1.0000", "USD": "0.9200", "GBP": "1.1700", "CHF": "1.0500"}
NOON = datetime(2025, 6, 1, 12, tzinfo=timezone.utc)
CENT = Decimal("0.01")
POISON = (
    b"not json",
    b'{"order_id":"x","ordered_at":"2025-06-01T12:00:00Z"} and more',
    b'{"order_id":"x","amount":"many","ordered_at":"2025-06-01T12:00:00Z"}',
    b'{"order_id":"x","ordered_at":"noon"}',
    b'{"order_id":"x"}',
)


def shop_project(folder: Path, kafka: KafkaForTests, topic: str, table: str = "shop.orders") -> ProjectContext:
    """The project that `anabranch init` writes, on the test run's broker and with a topic of its own."""
    write_project(plan_project(folder, "shop"))
    settings = folder / "anabranch.yaml"
    settings.write_text(settings.read_text().replace("bootstrap: embedded", f"bootstrap: {kafka.bootstrap}", 1))
    orders = folder / "pipelines" / "orders.yaml"
    text = orders.read_text().replace("topic: shop.orders", f"topic: {topic}")
    text = text.replace("consumerGroup: shop-orders", f"consumerGroup: {topic}-group")
    text = text.replace("table: shop.orders", f"table: {table}")
    orders.write_text(text)
    return open_project(folder, "dev")


def orders(numbers: Iterable[int], seed: int = 7) -> list[dict[str, Any]]:
    """Records to produce: orders up to six hours out of order, and among them poison and tombstones."""
    chance = random.Random(seed)
    made: list[dict[str, Any]] = []
    for number in numbers:
        partition = chance.choice((0, 0, 1))  # a third partition stays empty
        moment = NOON + timedelta(seconds=number - chance.randrange(0, 21_600), microseconds=number)
        order = {
            "order_id": None if number % 97 == 0 else f"o{number}",
            "customer": chance.choice(("ada", "žofie", "李")),
            "currency": chance.choice((*RATES, "XXX")),
            "amount": chance.randrange(0, 10_000_000) / 1000,
            "ordered_at": moment.isoformat(),
        }
        value: bytes | None = json.dumps(order, ensure_ascii=False).encode()
        if number % 211 == 0:
            value = POISON[number // 211 % len(POISON)]
        elif number % 223 == 0:
            value = None
        made.append({"key": str(number).encode(), "value": value, "partition": partition})
    return made


def expected_rows(records: Iterable[Record]) -> Counter[tuple[Any, ...]]:
    """The rows that these records must have become."""
    rows: Counter[tuple[Any, ...]] = Counter()
    for record in records:
        if record.value is None or record.value in POISON:
            continue
        order = json.loads(record.value, parse_float=Decimal)
        if order["order_id"] is None:
            continue
        amount = Decimal(order["amount"]).quantize(CENT, ROUND_HALF_UP)
        rate = RATES.get(order["currency"])
        euros = None if rate is None else (amount * Decimal(rate)).quantize(CENT, ROUND_HALF_UP)
        moment = datetime.fromisoformat(order["ordered_at"]).astimezone(timezone.utc)
        rows[order["order_id"], order["customer"], order["currency"], amount, euros, moment] += 1
    return rows


def poisoned(records: Iterable[Record]) -> Counter[tuple[int, int, bytes]]:
    return Counter((r.partition, r.offset, r.value) for r in records if r.value in POISON and r.value is not None)


def rows_of(table: Table) -> Counter[tuple[Any, ...]]:
    """The table's rows, by a reader that has no Spark in it."""
    names = ("order_id", "customer", "currency", "amount", "amount_eur", "ordered_at")
    return Counter(tuple(row[name] for name in names) for row in table.scan().to_arrow().to_pylist())


def set_aside(table: Table) -> Counter[tuple[int, int, bytes]]:
    rows = table.scan().to_arrow().to_pylist()
    return Counter((row["partition"], row["offset"], bytes(row["value"])) for row in rows)


def live_offsets(table: Table) -> list[Mapping[str, list[int]]]:
    """What each live commit says it holds, oldest first."""
    said = []
    snapshot = table.current_snapshot()
    while snapshot is not None:
        properties = snapshot.summary.additional_properties if snapshot.summary else {}
        if properties.get("anabranch.author") == "live":
            said.append(json.loads(properties["anabranch.offsets"]))
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else table.snapshot_by_id(parent)
    return said[::-1]


def assert_tiled(offsets: list[Mapping[str, list[int]]], ends: Mapping[int, int]) -> None:
    """Every offset of every partition in exactly one commit, in order, up to the end."""
    reached: dict[int, int] = {}
    for commit in offsets:
        for partition, (start, end) in commit.items():
            assert start == reached.get(int(partition), 0), f"partition {partition}: {offsets}"
            assert end >= start
            reached[int(partition)] = end
    assert reached == dict(ends)


def assert_exact(kafka: KafkaForTests, project_context: ProjectContext, topic: str) -> None:
    """Table and quarantine hold what the topic holds: nothing missing, nothing twice."""
    records = kafka.read_all(topic)
    catalog = project_context.catalog.open()
    found, wanted = rows_of(catalog.load_table("shop.orders")), expected_rows(records)
    assert found == wanted, f"missing {wanted - found}, too many {found - wanted}"
    assert set_aside(catalog.load_table("shop.orders__quarantine")) == poisoned(records)


def group_offsets(kafka: KafkaForTests, group: str, topic: str) -> dict[int, int]:
    """What an ordinary consumer of that group would be told."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group, "log_level": 0})
    try:
        partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        asked = [TopicPartition(topic, partition) for partition in partitions]
        return {found.partition: found.offset for found in consumer.committed(asked, timeout=30)}
    finally:
        consumer.close()
