"""Windows by plain Python: which ones an event is in, and the sums they must hold. No code of the product's."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from tests.fixtures.broker import Record

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
Row = tuple[Any, ...]
"""window_start, window_end, currency, orders, amount."""
Rows = Counter[Row]


@dataclass(frozen=True)
class Order:
    at: datetime
    currency: str
    amount: Decimal


def order_of(record: Record) -> Order | None:
    try:
        found = json.loads(record.value or b"")
        return Order(datetime.fromisoformat(found["ordered_at"]), found["currency"], Decimal(str(found["amount"])))
    except ValueError:
        return None


def fixed_windows(at: datetime, size: timedelta, slide: timedelta) -> list[tuple[datetime, datetime]]:
    start = at - (at - EPOCH) % slide
    found = []
    while start + size > at:
        found.append((start, start + size))
        start -= slide
    return found


def summed(orders: Iterable[tuple[tuple[datetime, datetime], Order]], factor: int) -> Rows:
    sums: Mapping[Any, list[Any]] = defaultdict(lambda: [0, Decimal(0)])
    for window, order in orders:
        entry = sums[window[0], window[1], order.currency]
        entry[0] += 1
        entry[1] += order.amount * factor
    return Counter((*key, count, amount.quantize(Decimal("0.01"))) for key, (count, amount) in sums.items())


def sessions(orders: Iterable[Order], gap: timedelta) -> list[tuple[tuple[datetime, datetime], Order]]:
    """Each order with the session of its currency that it is in."""
    found: list[tuple[tuple[datetime, datetime], Order]] = []
    by_key: dict[str, list[Order]] = defaultdict(list)
    for order in orders:
        by_key[order.currency].append(order)
    for mine in by_key.values():
        group: list[Order] = []
        for order in sorted(mine, key=lambda each: each.at):
            if group and order.at >= group[-1].at + gap:
                found += [((group[0].at, group[-1].at + gap), each) for each in group]
                group = []
            group.append(order)
        found += [((group[0].at, group[-1].at + gap), each) for each in group]
    return found
