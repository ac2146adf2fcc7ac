"""How long `anabranch retention audit` takes for a cluster of 200 topics with three partitions each.

One broker of its own below a folder that is removed again. Prints JSON and merges it into build/bench.json.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec
from plan_vs_scan import merge, seconds, stack

from anabranch.project.scaffold import plan_project, write_project
from anabranch.wiring.retention import audit_retention
from anabranch.wiring.workplace import open_workplace

TOPICS, PARTITIONS, RECORDS, ROUNDS = 200, 3, 20, 5


def fill(bootstrap: str) -> None:
    names = [f"shop.{number}" for number in range(TOPICS)]
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(name, num_partitions=PARTITIONS) for name in names]).values():
        made.result(120)
    asked = {TopicPartition(name, number): OffsetSpec.latest() for name in names for number in range(PARTITIONS)}
    while any(each.exception() for each in admin.list_offsets(asked, request_timeout=60).values()):
        time.sleep(0.5)  # the broker makes the partitions one after the other
    producer = Producer({"bootstrap.servers": bootstrap})
    for name in names:
        for number in range(RECORDS):
            producer.produce(name, b"x" * 100, partition=number % PARTITIONS)
        producer.poll(0)
    producer.flush()


def measure(folder: Path, bootstrap: str) -> dict[str, float]:
    fill(bootstrap)
    workplace = open_workplace(folder, "dev")
    found = audit_retention(workplace, now=datetime.now(timezone.utc))
    told = sum(each.promise is not None for each in found.topics)
    if told != TOPICS:
        raise AssertionError(f"the audit knows of {told} topics")
    rounds = [seconds(lambda: audit_retention(workplace, now=datetime.now(timezone.utc))) for _ in range(ROUNDS)]
    return {f"retention_audit_seconds_{TOPICS}_topics": round(statistics.median(rounds), 3)}


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
