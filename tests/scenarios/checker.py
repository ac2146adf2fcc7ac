"""The independent checker: a plain consumer, plain JSON and Decimal, multisets. It shares no code with the product."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from tests.fixtures.broker import Record

FIXED = {"EUR": "1.0000", "USD": "0.9200", "GBP": "1.1700", "CHF": "1.0500"}
BUGGY = {**FIXED, "GBP": "0.9200"}
"""What live had: pounds at the dollar's rate."""

Row = tuple[Any, ...]
"""order_id, customer, currency, amount, amount_eur, ordered_at."""
Rows = Counter[Row]
Offsets = Mapping[int, tuple[int, int]]
CENT = Decimal("0.01")


LATEST = 9_223_372_036_854_775
"""The last millisecond that fits into 64 bits as microseconds. Records that claim to be later are set aside."""


def order_of(record: Record) -> dict[str, Any] | None:
    """The order a record holds; None for a tombstone and for what is no order."""
    if record.value is None or record.timestamp > LATEST:
        return None
    try:
        order = json.loads(record.value)
    except ValueError:
        return None
    return order if isinstance(order, dict) and isinstance(order.get("ordered_at"), str) else None


def row_of(order: Mapping[str, Any], rates: Mapping[str, str]) -> Row:
    amount = Decimal(str(order["amount"])).quantize(CENT)
    euros = (amount * Decimal(rates[order["currency"]])).quantize(CENT, ROUND_HALF_UP)
    at = datetime.fromisoformat(order["ordered_at"])
    return (order["order_id"], order["customer"], order["currency"], amount, euros, at)


def recomputed(records: Iterable[Record], rates: Mapping[str, str], offsets: Offsets | None = None) -> Rows:
    """The rows of these records, or of those of them at the given offsets."""
    rows: Rows = Counter()
    for record in records:
        start, end = (offsets or {}).get(record.partition, (0, 0)) if offsets is not None else (0, record.offset + 1)
        order = order_of(record) if start <= record.offset < end else None
        if order is not None and order["order_id"] is not None:
            rows[row_of(order, rates)] += 1
    return rows


def between(rows: Rows, start: datetime, end: datetime) -> Rows:
    return Counter({row: count for row, count in rows.items() if start <= row[-1] < end})


def differences(expected: Rows, found: Rows) -> str:
    """Nothing when both are the same multiset; otherwise how many are missing and how many too many, and an example."""
    missing, extra = expected - found, found - expected
    if not missing and not extra:
        return ""
    examples = [*list(missing)[:2], *list(extra)[:2]]
    return f"{missing.total()} missing, {extra.total()} too many, such as {examples}"
