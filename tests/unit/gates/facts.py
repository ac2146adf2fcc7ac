"""Facts of a backfill that nothing speaks against, to change one thing at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from tests.unit.plan.world import World, hourly

from anabranch.gates.checks.compatibility import Operation, Probe, ProbeOutcome, compatibility_document
from anabranch.gates.checks.observability import METRICS
from anabranch.gates.checks.rollback import RehearsedRollback
from anabranch.gates.checks.storage_path import StoragePath
from anabranch.gates.evidence import Evidence
from anabranch.gates.facts import ClosingReading, GateFacts, LiveReading, MetricsReading
from anabranch.gates.impact.design import Design
from anabranch.gates.impact.measured import Impact, MeasuredBlock
from anabranch.plan.offsets.completeness import Proof
from anabranch.runs.audit import GENESIS, Anchor, ChainVerdict

NOW = datetime(2025, 7, 1, 12, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)
STORAGE = StoragePath(100, 0, 10_000, 5000, 0.5, None, 0, True, None, None)
ROLLBACK = RehearsedRollback(2, 3, 0.1, 0.2, True, True)
REHEARSAL = {
    "records_per_second": 1000.0,
    "bytes_per_second": 9e6,
    "bottleneck": "decode",
    "live_lag_with": 10,
    "live_lag_without": 5,
    "live_latency_with": 3.0,
    "live_latency_without": 2.0,
}


def impact(
    *ratios: float, lags: Sequence[float] = (), latency: float = 2.0, lag: int = 5, rate: int | None = 2**20
) -> dict[str, Any]:
    """The evidence of an experiment whose pairs have these ratios of latencies, and these differences in lag."""
    blocks = []
    for pair, ratio in enumerate(ratios, start=1):
        more = lags[pair - 1] if lags else 0.0
        on = MeasuredBlock(
            2 * pair - 1, pair, True, 15.0, latency * ratio, latency * ratio, 9, lag + more, 9, 30, 9, rate
        )
        blocks += [on, MeasuredBlock(2 * pair, pair, False, 15.0, latency, latency, 9, float(lag), lag, 30, 0, None)]
    return Impact(Design(len(ratios), 20.0, 5.0, 1), tuple(blocks), "rehearsal", 0.5).document()


NO_EFFECT = impact(1.02, 0.98, 1.01, 0.99, 1.03, 0.97)
COST = {"amount": 4.5, "currency": "EUR", "rests_on": "a rehearsal"}
SAMPLE = {"sampled": 100, "bad": 0, "places": 8, "unread_places": 0, "first_bad": []}


def probes(*changed: Probe) -> dict[str, Any]:
    """All operations work but these."""
    others = {each.operation: each for each in changed}
    found = [others.get(each, Probe(each, ProbeOutcome.WORKS)) for each in Operation]
    return compatibility_document(found, [], user="anonymous", topic="shop.orders")


def evidence(kind: str, found: dict[str, Any], age: timedelta = HOUR) -> Evidence:
    """Measured so long ago, and good for a day."""
    at = NOW - age
    return Evidence(kind, "anything", at, at + timedelta(days=1), "ada", found)


def good_facts(folder: Path) -> GateFacts:
    """Everything measured an hour ago and found good."""
    world = World.below(folder)
    contract: dict[str, Any] = {"budget": {"cost": 5.0, "bytesPerSecond": "1MiB"}}
    pipe = {
        "effects": "none",
        "residency": "eu",
        "live": {"maxLagRecords": 100, "maxLatency": "10s"},
        "quarantine": {"maxRecords": 10},
    }
    request = world.request(pipe=pipe, **contract)
    plan = world.plan([hourly(60)], **contract).plan
    proven = replace(plan, source=replace(plan.source, proof={0: Proof.MAP}))
    found: dict[str, dict[str, Any]] = {
        "compatibility": probes(),
        "storage": STORAGE.document(),
        "rehearsal": REHEARSAL,
        "impact": NO_EFFECT,
        "cost": COST,
        "schema": SAMPLE,
        "rollback": ROLLBACK.document(),
    }
    return GateFacts(
        now=NOW,
        plan=proven,
        contract=request.backfill,
        pipeline=request.pipeline,
        drifts=(),
        live=LiveReading(7, "group"),
        closing=ClosingReading("runs", None, 2**40, ChainVerdict(Anchor(0, GENESIS))),
        residency="eu",
        metrics=MetricsReading("http://127.0.0.1:9464/metrics", METRICS),
        reaches=(),
        evidence={kind: evidence(kind, each) for kind, each in found.items()},
    )
