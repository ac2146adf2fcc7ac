"""The independent check: read Kafka with a plain consumer, recompute the rows in plain Python, compare multisets.

It shares nothing with the product but the topic and the table: no Spark, no transform, no offsets.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

from anabranch.demo.orders import TOPIC

if TYPE_CHECKING:
    from pyiceberg.table import Table

RIGHT = {"EUR": Decimal("1.0000"), "USD": Decimal("0.9200"), "GBP": Decimal("1.1700"), "CHF": Decimal("1.0500")}
WRONG = {**RIGHT, "GBP": Decimal("0.9200")}

Row = tuple[str, str, Decimal]
"""Order, when it was placed, amount in euros."""


def expected(client: Mapping[str, str], corrected: tuple[datetime, datetime], fixed_from: int) -> Counter[Row]:
    """Rows of the table when the corrected range and every order from `fixed_from` on are right."""
    rows: Counter[Row] = Counter()
    for order, placed in _orders(client):
        right = corrected[0] <= placed < corrected[1] or int(order["order_id"][2:]) >= fixed_from
        rate = (RIGHT if right else WRONG)[order["currency"]]
        euros = (Decimal(str(order["amount"])) * rate).quantize(Decimal("0.01"), ROUND_HALF_UP)
        rows[order["order_id"], placed.astimezone(timezone.utc).isoformat(), euros] += 1
    return rows


Hours = dict[tuple[datetime, str], tuple[int, Decimal]]
"""Orders and revenue, by the hour's beginning and currency."""

WRONG_MINUTES = 50


def expected_hours(client: Mapping[str, str], corrected: tuple[datetime, datetime], before: int) -> Hours:
    """Sums per hour of the orders numbered below `before`: later ones are too late for their hours.

    Hours of the corrected range are complete; of other hours the first fifty minutes count.
    """
    hours: Hours = {}
    for order, placed in _orders(client):
        hour = placed.astimezone(timezone.utc).replace(minute=0, second=0, microsecond=0)
        whole = corrected[0] <= hour < corrected[1]
        if int(order["order_id"][2:]) >= before or not (whole or placed.minute < WRONG_MINUTES):
            continue
        count, amount = hours.get((hour, order["currency"]), (0, Decimal(0)))
        hours[hour, order["currency"]] = (count + 1, amount + Decimal(str(order["amount"])))
    return hours


def found_hours(table: Table) -> Hours:
    rows = table.scan().to_arrow().to_pylist()
    hours = {(row["window_start"], row["currency"]): (row["orders"], row["amount"]) for row in rows}
    if len(hours) != len(rows):
        raise ValueError(f"{len(rows) - len(hours)} hours occur twice")
    return hours


def hours_of(hours: Hours, part: tuple[datetime, datetime]) -> int:
    return sum(part[0] <= hour < part[1] for hour, _ in hours)


def found(table: Table) -> Counter[Row]:
    """Rows of the table, read without a JVM."""
    rows = table.scan(selected_fields=("order_id", "ordered_at", "amount_eur")).to_arrow().to_pylist()
    return Counter((row["order_id"], row["ordered_at"].isoformat(), row["amount_eur"]) for row in rows)


def _orders(client: Mapping[str, str]) -> Iterator[tuple[dict[str, Any], datetime]]:
    """Every order that can be read, and when it was placed."""
    for value in _values(client):
        try:
            order = json.loads(value)
            placed = datetime.fromisoformat(order["ordered_at"])
        except ValueError:
            continue
        yield order, placed


def _values(client: Mapping[str, str]) -> list[bytes]:
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer(
        {**client, "group.id": "proof", "enable.auto.commit": "false", "isolation.level": "read_committed"}
    )
    try:
        partitions = consumer.list_topics(TOPIC).topics[TOPIC].partitions
        consumer.assign([TopicPartition(TOPIC, p, OFFSET_BEGINNING) for p in partitions])
        ends = {p: consumer.get_watermark_offsets(TopicPartition(TOPIC, p))[1] for p in partitions}
        values: list[bytes] = []
        while any(_behind(place, ends) for place in consumer.position([TopicPartition(TOPIC, p) for p in partitions])):
            values += [message.value() for message in consumer.consume(10_000, 1.0) if not message.error()]
        return values
    finally:
        consumer.close()


def _behind(place: object, ends: Mapping[int, int]) -> bool:
    offset, partition = place.offset, place.partition  # type: ignore[attr-defined]
    return bool(ends[partition] > max(offset, 0))
