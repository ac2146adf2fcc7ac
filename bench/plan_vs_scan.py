"""How long a plan of one hour takes with the zone map, as a ratio to a full scan of the topic's event times.

One broker of its own below a folder that is removed again; rounds alternate. Prints JSON and merges it into
build/bench.json, so that each measurement keeps the keys of the others.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import HourTransform
from pyiceberg.types import NestedField, StringType, TimestamptzType

from anabranch.adapters.embedded.stack import EmbeddedKafka
from anabranch.adapters.iceberg.zones import IcebergZones, MapKey
from anabranch.contract.load import load_pipelines
from anabranch.plan.completeness import Moments
from anabranch.plan.zone_spans import HOUR, Span
from anabranch.plan.zones import BLOCK, Zone
from anabranch.project.scaffold import plan_project, write_project
from anabranch.wiring.planning import plan_backfill
from anabranch.wiring.workplace import Workplace, open_workplace
from anabranch.wiring.zones import PipelineZones

DAYS, PER_DAY, PARTITIONS, ROUNDS = 30, 40_000, 4, 5
JUNE = datetime(2025, 6, 1, tzinfo=timezone.utc)
NOW = JUNE + timedelta(days=40)
FROM, TO = "2025-06-15T10:00:00Z", "2025-06-15T11:00:00Z"
SCHEMA = Schema(NestedField(1, "order_id", StringType()), NestedField(2, "ordered_at", TimestamptzType()))


@contextmanager
def stack(folder: Path) -> Iterator[str]:
    kafka = EmbeddedKafka(folder / ".anabranch")
    kafka.up(1, patience=120)
    try:
        yield kafka.bootstrap()
    finally:
        kafka.down()


def fill(bootstrap: str) -> int:
    """Thirty days of orders, in the order of time."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topic = NewTopic("shop.orders", num_partitions=PARTITIONS, config={"retention.ms": "-1"})
    admin.create_topics([topic])["shop.orders"].result(30)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000})
    step, total = timedelta(days=1) / PER_DAY, DAYS * PER_DAY
    for number in range(total):
        at = JUNE + number * step
        order = {"order_id": f"o{number}", "customer": "ada", "currency": "EUR", "amount": 1.5}
        value = json.dumps({**order, "ordered_at": at.isoformat()})
        stamp = round(at.timestamp() * 1000)
        producer.produce("shop.orders", value.encode(), partition=number % PARTITIONS, timestamp=stamp)
        if number % 10_000 == 0:
            producer.poll(0)
    producer.flush()
    return total


def make_table(workplace: Workplace) -> None:
    tables = workplace.catalog.open()
    tables.create_namespace("shop")
    spec = PartitionSpec(PartitionField(2, 1000, HourTransform(), "ordered_at_hour"))
    table = tables.create_table("shop.orders", SCHEMA, partition_spec=spec)
    table.append(SCHEMA.as_arrow().empty_table())


def hour_of(sample: Path) -> Path:
    """The sample contract, for the one hour."""
    text = sample.read_text().replace("2025-06-02T00:00:00Z", FROM).replace("2025-06-02T12:00:00Z", TO)
    if FROM not in text or TO not in text:
        raise AssertionError(f"{sample} has another range")
    sample.write_text(text)
    return sample


def scan(bootstrap: str, total: int) -> None:
    """What finding the events takes with no map: every record read, every event time parsed. Plain and fast."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "bench", "enable.auto.commit": False})
    consumer.assign([TopicPartition("shop.orders", partition, 0) for partition in range(PARTITIONS)])
    start, end = FROM.removesuffix("Z"), TO.removesuffix("Z")
    found = seen = 0
    while seen < total:
        for message in consumer.consume(10_000, timeout=10):
            seen += 1
            found += start <= json.loads(message.value())["ordered_at"] < end
    consumer.close()
    if found != PER_DAY // 24 and found != PER_DAY // 24 + 1:
        raise AssertionError(f"the scan found {found} events")


def month_of_64(workplace: Workplace) -> float:
    """Seconds to look up one hour in a map of 64 partitions and 30 days, a zone for every five minutes."""
    zones, key, five = IcebergZones(workplace.catalog.open(), "shop.month"), MapKey("u", "r"), HOUR // 12
    blocks = [(n * BLOCK, (n + 1) * BLOCK, n * five, (n + 1) * five - 1) for n in range(DAYS * 24 * 12)]
    zones.add(
        key,
        (
            Zone(p, start, end, BLOCK, 10**6, 0, (Span(low, high, BLOCK, start, end),), 0, 0)
            for p in range(64)
            for start, end, low, high in blocks
        ),
    )
    return seconds(lambda: zones.look(key, Moments(400 * HOUR, 401 * HOUR)))


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measure(folder: Path, bootstrap: str) -> dict[str, float]:
    workplace = open_workplace(folder, "dev")
    make_table(workplace)
    total = fill(bootstrap)
    zones = PipelineZones(workplace, load_pipelines(workplace.loaded)["orders"])
    zones.build(zones.missing(), lambda _: None)
    contract = hour_of(folder / "contracts" / "fix-currency.yaml")
    planned = plan_backfill(workplace, contract, now=NOW)
    pairs = [
        (seconds(lambda: plan_backfill(workplace, contract, now=NOW)), seconds(lambda: scan(bootstrap, total)))
        for _ in range(ROUNDS)
    ]
    plan, whole = (statistics.median(column) for column in zip(*pairs, strict=True))
    return {
        "plan_vs_full_scan": round(plan / whole, 4),
        "plan_seconds": round(plan, 3),
        "full_scan_seconds": round(whole, 3),
        "full_scan_records": total,
        "plan_read_amplification": round(planned.outlook.map.amplification or 0, 3),
        "zone_lookup_64_partitions_30_days_seconds": round(month_of_64(workplace), 3),
    }


def merge(found: dict[str, float], file: Path = Path("build/bench.json")) -> None:
    file.parent.mkdir(exist_ok=True)
    before = json.loads(file.read_text()) if file.is_file() else {}
    file.write_text(json.dumps({**before, **found}, indent=2, sort_keys=True) + "\n")


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "shop"
        write_project(plan_project(folder, "shop"))
        with stack(folder) as bootstrap:
            found = measure(folder, bootstrap)
    merge(found)
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
