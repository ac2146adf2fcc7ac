"""How long a plan of one hour takes with the zone map, as a ratio to a full scan of the topic's event times."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

from bench.workbench import DAY, PARTITIONS, TABLE, TOPIC, Bench, alternating, bench, fill, keep, seconds
from confluent_kafka import Consumer, TopicPartition
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import HourTransform
from pyiceberg.types import NestedField, StringType, TimestamptzType

from anabranch.adapters.iceberg.zones import IcebergZones, MapKey
from anabranch.app.planning import plan_backfill
from anabranch.app.project_context import ProjectContext
from anabranch.app.zones import PipelineZones
from anabranch.contract.load import load_pipelines
from anabranch.plan.offsets.completeness import MicrosRange
from anabranch.plan.offsets.zone_spans import HOUR, ZoneSpan
from anabranch.plan.offsets.zones import BLOCK, Zone

DAYS, PER_DAY, ROUNDS = 30, 40_000, 5
NOW = DAY + timedelta(days=40)
FROM, TO = "2025-06-15T10:00:00Z", "2025-06-15T11:00:00Z"
SCHEMA = Schema(NestedField(1, "order_id", StringType()), NestedField(2, "ordered_at", TimestamptzType()))


def make_table(project_context: ProjectContext) -> None:
    tables = project_context.catalog.open()
    tables.create_namespace("shop")
    spec = PartitionSpec(PartitionField(2, 1000, HourTransform(), "ordered_at_hour"))
    table = tables.create_table(TABLE, SCHEMA, partition_spec=spec)
    table.append(SCHEMA.as_arrow().empty_table())


def hour_of(sample: Path) -> Path:
    """The sample contract, for the one hour."""
    text = sample.read_text().replace("2025-06-02T00:00:00Z", FROM).replace("2025-06-02T12:00:00Z", TO)
    text = text.replace("  pipeline: orders\n", "  pipeline: orders\n  live: none\n")
    if FROM not in text or TO not in text:
        raise AssertionError(f"{sample} has another range")
    sample.write_text(text)
    return sample


def scan(bootstrap: str, total: int) -> None:
    """What finding the events takes with no map: every record read, every event time parsed. Plain and fast."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "bench", "enable.auto.commit": False}
    consumer = Consumer({**settings, "fetch.queue.backoff.ms": 1})
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(PARTITIONS)])
    start, end = FROM.removesuffix("Z"), TO.removesuffix("Z")
    found = seen = 0
    while seen < total:
        for message in consumer.consume(10_000, timeout=10):
            seen += 1
            found += start <= json.loads(message.value())["ordered_at"] < end
    consumer.close()
    if found != PER_DAY // 24 and found != PER_DAY // 24 + 1:
        raise AssertionError(f"the scan found {found} events")


def month_of_64(project_context: ProjectContext) -> float:
    """Seconds to look up one hour in a map of 64 partitions and 30 days, a zone for every five minutes."""
    zones, key, five = IcebergZones(project_context.catalog.open(), "shop.month"), MapKey("u", "r"), HOUR // 12
    blocks = [(n * BLOCK, (n + 1) * BLOCK, n * five, (n + 1) * five - 1) for n in range(DAYS * 24 * 12)]
    zones.add(
        key,
        (
            Zone(p, start, end, BLOCK, 10**6, 0, (ZoneSpan(low, high, BLOCK, start, end),), 0, 0)
            for p in range(64)
            for start, end, low, high in blocks
        ),
    )
    return seconds(lambda: zones.look(key, MicrosRange(400 * HOUR, 401 * HOUR)))


def measure(place: Bench) -> dict[str, object]:
    project_context = place.project_context
    make_table(project_context)
    total = DAYS * PER_DAY
    fill(place.bootstrap, total, span=timedelta(days=DAYS))
    zones = PipelineZones(project_context, load_pipelines(project_context.loaded)["orders"])
    zones.build(zones.missing(), lambda _: None)
    contract = hour_of(place.folder / "contracts" / "fix-currency.yaml")
    planned = plan_backfill(project_context, contract, now=NOW)
    times = alternating(
        {
            "plan": lambda: plan_backfill(project_context, contract, now=NOW),
            "full scan": lambda: scan(place.bootstrap, total),
        },
        ROUNDS,
    )
    return {
        "plan_vs_scan": round(times["plan"] / times["full scan"], 4),
        "plan_seconds": round(times["plan"], 3),
        "full_scan_records": total,
        "plan_read_amplification": round(planned.estimates.map.amplification or 0, 3),
        "zone_lookup_64_partitions_30_days_seconds": round(month_of_64(project_context), 3),
    }


def main() -> None:
    with bench() as place:
        keep(measure(place))


if __name__ == "__main__":
    main()
