"""A rehearsal as plain values, to change one thing at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from anabranch.plan.forecast.rehearsed import Rehearsed

MEASURED = Rehearsed(
    records_per_second=500.0,
    bytes_per_second=50_000.0,
    validate_seconds_per_million_rows=20.0,
    promote_seconds=2.0,
    rollback_seconds=3.0,
    commit_seconds=0.5,
    live_lag_with=10,
    live_lag_without=5,
    live_latency_with=2.0,
    live_latency_without=1.0,
    bottleneck="decode",
    records=1000,
    bytes=100_000,
    slice_seconds=1.0,
    record_seconds=0.001,
    arrivals_per_second=0.0,
    cores=2,
    stages={"broker": 0.1, "network": 0.2, "decode": 0.4, "transform": 0.1, "write": 0.1, "commit": 0.1},
    bytes_per_second_limit=None,
)


def measured(**changes: Any) -> Rehearsed:
    return replace(MEASURED, **changes)
