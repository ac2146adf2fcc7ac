"""Windows by plain Python: which ones an event is in, and the sums they must hold. No code of the product's."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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


@dataclass
class AsLive:
    """What live does with windows: late by what the batch before knew, closed by what this one knows."""

    size: timedelta
    slide: timedelta
    lateness: timedelta
    kept: list[tuple[tuple[datetime, datetime], Order]] = field(default_factory=list)
    """Each order with every window that it counts in."""
    late: list[Order] = field(default_factory=list)
    """Those that lost a window at least."""
    marks: list[datetime] = field(default_factory=list)
    """By which windows were closed, batch by batch."""
    _next: datetime = EPOCH

    def batch(self, orders: Iterable[Order]) -> None:
        late_before = self.marks[-1] if self.marks else EPOCH
        self.marks.append(self._next)
        for order in orders:
            windows = fixed_windows(order.at, self.size, self.slide)
            open_ones = [window for window in windows if window[1] > late_before]
            self.kept += [(window, order) for window in open_ones]
            if len(open_ones) < len(windows):
                self.late.append(order)
            self._next = max(self._next, order.at - self.lateness)

    def rows(self, factor: int) -> Rows:
        """Of the windows that are closed."""
        return Counter({row: n for row, n in summed(self.kept, factor).items() if row[1] <= self.marks[-1]})

    def open_keys(self) -> set[tuple[datetime, str]]:
        return {(window[0], order.currency) for window, order in self.kept if window[1] > self.marks[-1]}
