"""What the tables of the auction house must hold, by plain Python from the records: right, and as live had it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from tests.fixtures.broker import Record
from tests.integration.windows.checker import EPOCH, fixed_windows

FOUR = datetime(2025, 6, 1, 16, tzinfo=timezone.utc)
"""When the mistakes were found: what was sent before was made into rows by the wrong code."""
LATENESS = timedelta(minutes=10)
HOUR, HALF, TEN = timedelta(hours=1), timedelta(minutes=30), timedelta(minutes=10)

Row = tuple[Any, ...]
Rows = Counter[Row]
Moments = tuple[datetime, datetime]


@dataclass(frozen=True)
class Bid:
    number: int
    auction: int
    bidder: int
    price: int
    channel: str | None
    at: datetime
    early: bool
    """Sent before four."""


def bids_of(records: Iterable[Record]) -> list[Bid]:
    return [_bid(json.loads(record.value or b""), record.timestamp) for record in records]


def _bid(said: dict[str, Any], stamp: int) -> Bid:
    at, sent = (EPOCH + timedelta(milliseconds=millis) for millis in (said["date_time"], stamp))
    return Bid(said["bid"], said["auction"], said["bidder"], said["price"], said["channel"], at, sent < FOUR)


def watermark(bids: Iterable[Bid]) -> datetime:
    return max(bid.at for bid in bids) - LATENESS


def late(bids: list[Bid], size: timedelta, slide: timedelta, first: datetime, after: datetime) -> int:
    """Bids that came when a window of theirs, of those that begin in the range, was closed."""
    closed = watermark(bid for bid in bids if bid.early)

    def missed(bid: Bid) -> bool:
        return any(first <= start < after and end <= closed for start, end in fixed_windows(bid.at, size, slide))

    return sum(missed(bid) for bid in bids if not bid.early)


def currency(bids: list[Bid], *, wrong: bool) -> Rows:
    def row(bid: Bid) -> Row:
        rate = Decimal("0.980" if wrong and bid.early else "0.908")
        return (bid.number, bid.auction, bid.bidder, bid.price, bid.price * rate, bid.at)

    return Counter(row(bid) for bid in bids)


def selection(bids: list[Bid], *, wrong: bool) -> Rows:
    def chosen(bid: Bid) -> bool:
        return bid.auction % (12 if wrong and bid.early else 13) == 0

    return Counter((bid.number, bid.auction, bid.bidder, bid.price, bid.at) for bid in bids if chosen(bid))


def hot_items(bids: list[Bid], *, wrong: bool) -> Rows:
    counts: dict[Row, int] = defaultdict(int)
    for (start, end), bid in _in_windows(bids, HOUR, HALF, as_live=wrong):
        counts[start, end, bid.auction] += not (wrong and bid.early and bid.channel is None)
    return Counter((*key, count) for key, count in counts.items())


def highest_bid(bids: list[Bid], *, wrong: bool) -> Rows:
    """Live's state is three numbers: what the wrong code has left in an open window, the right code misreads."""
    best: dict[Moments, tuple[int, int, int]] = {}
    closed = watermark(bid for bid in bids if bid.early)
    for window, bid in _in_windows(bids, TEN, TEN, as_live=wrong):
        swapped = wrong and bid.early
        found = (bid.auction, bid.price, bid.bidder) if swapped else (bid.price, bid.auction, bid.bidder)
        best[window] = max(best.get(window, found), found)
    rows: Rows = Counter()
    for (start, end), (first, second, bidder) in best.items():
        auction, price = (first, second) if wrong and end <= closed else (second, first)
        rows[start, end, auction, bidder, price] += 1
    return rows


def _in_windows(bids: list[Bid], size: timedelta, slide: timedelta, *, as_live: bool) -> Iterator[tuple[Moments, Bid]]:
    """Each bid with its windows that live has closed by now; as live, without those that were closed when it came."""
    at_four, now = watermark(bid for bid in bids if bid.early), watermark(bids)
    for bid in bids:
        for window in fixed_windows(bid.at, size, slide):
            dropped = as_live and not bid.early and window[1] <= at_four
            if window[1] <= now and not dropped:
                yield window, bid


def repaired(former: Rows, right: Rows, time: int, first: datetime, after: datetime) -> Rows:
    """The former rows, with those of a range by the column `time` as the right ones are."""

    def inside(rows: Rows) -> Rows:
        return Counter({row: count for row, count in rows.items() if first <= row[time] < after})

    return former - inside(former) + inside(right)


def hottest(counts: Rows) -> Rows:
    most: dict[datetime, int] = defaultdict(int)
    for start, _, _, bids in counts:
        most[start] = max(most[start], bids)
    return Counter({row: count for row, count in counts.items() if row[3] == most[row[0]]})
