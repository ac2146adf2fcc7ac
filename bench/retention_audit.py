"""How long `anabranch retention audit` takes for a cluster of 200 topics with three partitions each."""

from __future__ import annotations

import statistics
import time
from datetime import datetime, timezone

from bench.workbench import Bench, bench, keep, seconds
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from anabranch.app.retention import audit_retention

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


def measure(place: Bench) -> dict[str, object]:
    fill(place.bootstrap)
    found = audit_retention(place.project_context, now=datetime.now(timezone.utc))
    told = sum(each.promise is not None for each in found.topics)
    if told != TOPICS:
        raise AssertionError(f"the audit knows of {told} topics")
    rounds = [
        seconds(lambda: audit_retention(place.project_context, now=datetime.now(timezone.utc))) for _ in range(ROUNDS)
    ]
    return {f"retention_audit_seconds_{TOPICS}_topics": round(statistics.median(rounds), 3)}


def main() -> None:
    with bench() as place:
        keep(measure(place))


if __name__ == "__main__":
    main()
