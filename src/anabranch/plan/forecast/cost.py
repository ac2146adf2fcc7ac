"""The cost of a backfill: its usage by meter, at the prices of the book. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from anabranch.contract.price_book import Assumptions, MeterPrice, PriceBook
from anabranch.plan.forecast.estimates import Estimates
from anabranch.plan.forecast.rehearsed import Rehearsed, variants_of
from anabranch.plan.plan import Plan

GIB = 1 << 30
REQUESTS_PER_COMMIT = 4
"""A commit writes metadata, a manifest list and a manifest, and moves the catalog's pointer."""


@dataclass(frozen=True)
class Stored:
    """Number and size of data files in a part of the table."""

    files: int
    bytes: int


@dataclass(frozen=True)
class Metered:
    """The usage of a backfill, by meter."""

    broker_bytes: int = 0
    storage_bytes: int = 0
    requests: int = 0
    core_seconds: float = 0.0


@dataclass(frozen=True)
class Line:
    """One meter of a bill."""

    meter: str
    quantity: float
    unit: str
    price: float
    owner: str
    threshold: float
    alert: str

    @property
    def amount(self) -> float:
        return self.quantity * self.price

    @property
    def over(self) -> bool:
        """Whether the amount exceeds the threshold."""
        return self.amount > self.threshold

    def document(self) -> dict[str, Any]:
        return {**asdict(self), "quantity": round(self.quantity, 6), "amount": round(self.amount, 6), "over": self.over}


@dataclass(frozen=True)
class Bill:
    lines: tuple[Line, ...]
    currency: str
    book: str
    """Name and date of the price book."""

    @property
    def amount(self) -> float:
        return sum(line.amount for line in self.lines)

    @property
    def alerts(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.over)

    def document(self) -> dict[str, Any]:
        return {
            "amount": round(self.amount, 6),
            "currency": self.currency,
            "prices": self.book,
            "meters": [line.document() for line in self.lines],
        }


def bill(book: PriceBook, usage: Metered) -> Bill:
    spec, meters = book.spec, book.spec.meters
    lines = (
        _line("storageReads", usage.storage_bytes / GIB, "GiB", meters.storage_reads),
        _line("interZone", usage.broker_bytes * spec.assume.inter_zone_share / GIB, "GiB", meters.inter_zone),
        _line("objectRequests", usage.requests / 1000, "1000 requests", meters.object_requests),
        _line("coreHours", usage.core_seconds / 3600, "core hours", meters.core_hours),
        _line("brokerEgress", usage.broker_bytes / GIB, "GiB", meters.broker_egress),
    )
    return Bill(lines, spec.currency, f"{book.metadata.name} of {spec.dated}")


def _line(meter: str, quantity: float, unit: str, price: MeterPrice) -> Line:
    return Line(meter, quantity, unit, price.price, price.owner, price.threshold, price.alert)


def expected_usage(
    plan: Plan,
    estimates: Estimates,
    rehearsed: Rehearsed | None,
    stored: Stored,
    assume: Assumptions,
    cores: int,
    bytes_per_second: int | None,
) -> Metered | None:
    """The usage of a replay and one validation; None if neither cluster nor rehearsal tells the bytes to read.

    `stored` is the range's files now; staging is assumed to become as large. Cores are paid for also while a replay
    waits to stay within the contract's rate.
    """
    variants = variants_of(plan)
    if rehearsed is not None:
        size = round(estimates.offsets * rehearsed.bytes_per_record) * variants
        replay = variants * rehearsed.replay_seconds(plan.slices, bytes_per_second) * rehearsed.cores
        validation = plan.target.rows / 1e6 * rehearsed.validate_seconds_per_million_rows * rehearsed.cores
    elif estimates.bytes is not None:
        size = estimates.bytes * variants
        paced = size / bytes_per_second * cores if bytes_per_second else 0.0
        replay = max(size / assume.bytes_per_core_second, paced)
        validation = 2 * stored.bytes / assume.bytes_per_core_second
    else:
        return None
    commits = len(plan.slices) * variants
    written = max(stored.files, commits)
    return Metered(
        broker_bytes=size,
        storage_bytes=2 * stored.bytes,
        requests=commits * REQUESTS_PER_COMMIT + 2 * written + stored.files,
        core_seconds=replay + validation,
    )


def used(
    bytes_read: int, seconds: float, cores: int, commits: int, staged: Stored, base: Stored, validations: int
) -> Metered:
    """The usage of a run so far, by its ledgers, timings and files."""
    return Metered(
        broker_bytes=bytes_read,
        storage_bytes=validations * (staged.bytes + base.bytes),
        requests=commits * REQUESTS_PER_COMMIT + staged.files + validations * (staged.files + base.files),
        core_seconds=seconds * cores,
    )


def alert_words(lines: Iterable[Line], currency: str) -> list[str]:
    """One line per alert, for the terminal and the audit log."""
    return [
        f"{line.meter}: {line.amount:,.2f} {currency}, more than {line.threshold:,.2f}; {line.owner}: {line.alert}"
        for line in lines
    ]
