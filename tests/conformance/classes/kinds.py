"""What the suite must know of a class of pipeline: its files, and by plain Python what its table must hold."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from tests.fixtures.broker import Record

Rows = Counter[tuple[Any, ...]]
"""Account, amount, when: the event's own time, or the start of its window."""
IsRight = Callable[[Record], bool]
"""Whether a record was made into its row by the right code."""

SCHEMA = {"account": "string", "amount": "bigint", "at": "timestamp"}


@dataclass(frozen=True)
class Kind:
    name: str
    spec: Mapping[str, Any]
    """What its pipeline says besides what all say."""
    target: Mapping[str, Any]
    """And of its table."""
    code: str
    """The transform, with SIGN in place of what the right and the wrong one differ in."""
    table: Callable[[Iterable[Record], IsRight], Rows]
    """What the table must hold of these records, in the order of their offsets."""
    span: Mapping[str, str]
    """The range of the contract, as event time."""
    corrects: range
    """The hours that a backfill of it corrects."""
    keyed: bool = True
    behind: int = 0
    """Hours that the table is behind the topic."""
    when: str = "at"
    """The column with the time of a row."""

    @property
    def windowed(self) -> bool:
        return "window" in self.spec


def _event(record: Record) -> dict[str, Any] | None:
    return None if record.value is None else json.loads(record.value)


def _sign(right: bool) -> int:
    return 1 if right else -1


def _each(records: Iterable[Record], right: IsRight) -> Rows:
    """Every event its own row."""
    rows: Rows = Counter()
    for record in records:
        event = _event(record)
        if event is not None:
            rows[event["account"], _sign(right(record)) * event["amount"], event["at"]] += 1
    return rows


def _last(records: Iterable[Record], right: IsRight) -> Rows:
    """The last event of each account; a tombstone is the end of it."""
    state: dict[str, tuple[Any, ...]] = {}
    for record in records:
        event = _event(record)
        if event is None:
            state.pop((record.key or b"").decode(), None)
        else:
            state[event["account"]] = (event["account"], _sign(right(record)) * event["amount"], event["at"])
    return Counter(state.values())


def _balance(records: Iterable[Record], right: IsRight) -> Rows:
    """All amounts of an account so far, doubled before each: so that the order counts. A tombstone closes it."""
    state: dict[str, tuple[Any, ...]] = {}
    for record in records:
        event = _event(record)
        if event is None:
            state.pop((record.key or b"").decode(), None)
            continue
        before = state.get(event["account"], (None, 0, None))[1]
        after = (2 * before + _sign(right(record)) * event["amount"]) % 1_000_003
        state[event["account"]] = (event["account"], after, event["at"])
    return Counter(state.values())


def _windows(records: Iterable[Record], right: IsRight) -> Rows:
    """The sum of each account and hour, once no event of that hour is waited for any more."""
    sums: Counter[tuple[str, datetime]] = Counter()
    newest = datetime.min.replace(tzinfo=timezone.utc)
    for record in records:
        event = json.loads(record.value or b"")
        at = datetime.fromisoformat(event["at"])
        newest = max(newest, at)
        sums[event["account"], at.replace(minute=0, second=0, microsecond=0)] += _sign(right(record)) * event["amount"]
    closed = ((account, amount, hour) for (account, hour), amount in sums.items() if hour + HOUR <= newest - LATENESS)
    return Counter((account, amount, hour.isoformat()) for account, amount, hour in closed)


SELECT = """
from pyspark.sql import functions as F

def transform(events):
    return events.select("account", (SIGN * F.col("amount")).alias("amount"), "at", "_partition", "_offset")
"""

FOLD = '''
from pyspark.sql import functions as F

def transform(events, state):
    """The fold of each account's events, in the order of their offsets, onto its row."""
    ordered = F.array_sort(F.collect_list(F.struct("_offset", "_tombstone", "amount", "at")))
    heard = events.groupBy("account").agg(ordered.alias("heard"))
    both = heard.join(state.select("account", F.col("amount").alias("b"), F.col("at").alias("t")), "account", "left")
    start = F.struct(F.col("b").alias("amount"), F.col("t").alias("at"))
    nothing = F.struct(F.lit(None).cast("bigint").alias("amount"), F.lit(None).cast("timestamp").alias("at"))

    def step(was, event):
        amount = F.pmod(2 * F.coalesce(was["amount"], F.lit(0)) + SIGN * event["amount"], F.lit(1000003))
        told = F.struct(amount.alias("amount"), event["at"].alias("at"))
        return F.when(event["_tombstone"], nothing).otherwise(told)

    folded = both.select("account", F.aggregate("heard", start, step).alias("new"))
    return folded.select("account", "new.amount", "new.at").where("at IS NOT NULL")
'''

SUMS = """
from pyspark.sql import functions as F

def transform(events, run):
    sums = events.groupBy(run.window, "account").agg(F.sum(SIGN * F.col("amount")).alias("amount"))
    return sums.select("account", "amount", F.col("_window.start").alias("window_start"), "_window")
"""

SINCE = "2025-06-01T01:00:00Z"
HOUR, LATENESS = timedelta(hours=1), timedelta(minutes=10)
EVER = range(1, 24)
BY_ACCOUNT = {"keys": ["account"]}
STATELESS = Kind("stateless", {}, {}, SELECT, _each, {"from": SINCE, "to": "2025-06-01T06:00:00Z"}, EVER, keyed=False)
UPSERT = Kind("upsert", {}, BY_ACCOUNT, SELECT, _last, {"from": SINCE}, EVER)
ORDERED = Kind("ordered", {}, {**BY_ACCOUNT, "schema": SCHEMA}, FOLD, _balance, {"from": SINCE}, EVER)
WINDOWED = Kind(
    "windowed",
    {"window": {"kind": "tumbling", "size": "1h", "lateness": "10m"}},
    {"keys": ["account", "window_start"]},
    SUMS,
    _windows,
    {"from": SINCE, "to": "2025-06-01T03:00:00Z"},
    range(1, 3),
    keyed=False,
    behind=1,
    when="window_start",
)
KINDS = (STATELESS, UPSERT, ORDERED, WINDOWED)
