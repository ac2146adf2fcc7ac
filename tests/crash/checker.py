"""The independent checker: what the table must hold, recomputed in plain Python from what a plain consumer read.

Shares nothing with the product: neither its transform nor its decoding, neither its offsets nor its ledger.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import ROUND_HALF_UP, Decimal

from pyiceberg.table import Table
from tests.fixtures.broker import Record

RIGHT = {"EUR": Decimal("1.0000"), "USD": Decimal("0.9200"), "GBP": Decimal("1.1700"), "CHF": Decimal("1.0500")}
WRONG = {**RIGHT, "GBP": Decimal("0.9200")}
CENT = Decimal("0.01")

Row = tuple[str, str, str, Decimal, Decimal, str]
"""Order, customer, currency, amount, amount in euros, when it was placed."""


@dataclass(frozen=True)
class Order:
    """An event that gives a row."""

    partition: int
    offset: int
    fields: Mapping[str, str]
    amount: Decimal
    placed: datetime

    def row(self, rates: Mapping[str, Decimal]) -> Row:
        euros = (self.amount * rates[self.fields["currency"]]).quantize(CENT, ROUND_HALF_UP)
        at = self.placed.astimezone(timezone.utc).isoformat()
        return (self.fields["order_id"], self.fields["customer"], self.fields["currency"], self.amount, euros, at)


def read_order(record: Record) -> Order | None:
    """The order in a record; None for a tombstone, an order without an id, and what nobody can decode."""
    try:
        fields = json.loads(record.value or b"{}", parse_float=Decimal)
        placed = datetime.fromisoformat(fields["ordered_at"])
        if fields["order_id"] is None:
            return None
        amount = Decimal(fields["amount"]).quantize(CENT)
    except (ValueError, KeyError):
        return None
    return Order(record.partition, record.offset, fields, amount, placed)


@dataclass(frozen=True)
class Comparison:
    """How the table differs from what it must hold, as multisets of whole rows."""

    rows: int
    missing: int
    doubled: int
    """Rows too many, whether doubled or made up."""
    examples: tuple[Row, ...]


def compare(orders: Iterable[Order], is_right: Callable[[Order], bool], table: Table, ref: str = "main") -> Comparison:
    """Compare the table with the orders, each converted at the right rate or at the former, wrong one."""
    wanted = Counter(order.row(RIGHT if is_right(order) else WRONG) for order in orders)
    found = rows_of(table, ref)
    missing, extra = wanted - found, found - wanted
    return Comparison(found.total(), missing.total(), extra.total(), (*list(missing)[:3], *list(extra)[:3]))


def rows_of(table: Table, ref: str = "main") -> Counter[Row]:
    columns = table.scan().use_ref(ref).to_arrow().to_pydict()
    columns["ordered_at"] = [at.isoformat() for at in columns["ordered_at"]]
    names = ("order_id", "customer", "currency", "amount", "amount_eur", "ordered_at")
    return Counter(zip(*(columns[name] for name in names), strict=True))


def fate_of(record: Record, start: datetime, end: datetime) -> str:
    """What must become of a record when [start, end) is replayed."""
    if record.value is None:
        return "filtered"
    try:
        fields = json.loads(record.value)
        placed = datetime.fromisoformat(fields["ordered_at"])
    except (ValueError, KeyError):
        return "quarantined"
    if not start <= placed < end:
        return "out_of_range"
    return "filtered" if fields["order_id"] is None else "output"
