"""A shop's orders: out of order, some late, a few that nobody can decode. The same numbers give the same orders."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

PARTITIONS = 3
BROKEN = (b'{"order_id": "cut sho', b"not json at all", b'{"order_id": "x", "ordered_at": "yesterday"}')
LATE_SHARE, LATEST = 0.05, timedelta(minutes=10)


def make_orders(count: int, *, first: int, beginning: datetime, span: timedelta) -> Iterator[dict[str, Any]]:
    """Records to produce. Of every thousand, one is broken, one a tombstone and one an order without an id."""
    rng = Random(first)
    for number in range(first, first + count):
        sent = beginning + span * (number - first) / count
        late = LATEST * rng.random() if rng.random() < LATE_SHARE else timedelta(seconds=20 * rng.random())
        order = {
            "order_id": None if number % 1000 == 7 else f"o-{number:07}",
            "customer": f"c-{rng.randrange(5000):04}",
            "currency": rng.choice(("EUR", "USD", "GBP", "GBP", "CHF")),
            "amount": rng.randrange(100, 50_000) / 100,
            "ordered_at": (sent - late).isoformat(timespec="milliseconds"),
        }
        value: bytes | None = json.dumps(order).encode()
        if number % 1000 == 13:
            value = None
        elif number % 1000 == 17:
            value = rng.choice(BROKEN)
        yield {
            "partition": number % PARTITIONS,
            "key": str(order["customer"]).encode(),
            "value": value,
            "timestamp": round(sent.timestamp() * 1000),
        }
