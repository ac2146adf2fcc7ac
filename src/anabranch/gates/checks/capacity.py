"""Gate: live stays within its limits while the replay runs, as a rehearsal measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from anabranch.gates.facts import GateFacts
from anabranch.gates.gate import GateFinding, Judgement, aged, failed, judged, never_measured, unknown, untested
from anabranch.project.quantities import format_duration

NAME = "capacity"
KIND = "rehearsal"
REHEARSE = "anabranch rehearse -f CONTRACT"


def judge_capacity(facts: GateFacts) -> Judgement:
    evidence, owner = facts.evidence.get(KIND), facts.pipeline.spec.owner
    if evidence is None:
        words = "this contract was not rehearsed: its effect on live is unknown"
        return never_measured(NAME, words, owner=owner, at=facts.now, to_green=REHEARSE)
    found: Mapping[str, Any] = evidence.found
    judgement = judged(
        NAME,
        list(_findings(facts, found)),
        f"rehearsed at {found['records_per_second']:,.0f} records/s; live stayed within its limits",
        owner=owner,
        at=evidence.at,
        figures={
            name: found[name]
            for name in (
                "records_per_second",
                "bytes_per_second",
                "bottleneck",
                "live_lag_with",
                "live_lag_without",
                "live_latency_with",
                "live_latency_without",
            )
        },
    )
    return aged(judgement, evidence, facts.now, REHEARSE)


def _findings(facts: GateFacts, found: Mapping[str, Any]) -> Iterator[GateFinding]:
    """Each limit that is set must have been measured, and not exceeded."""
    live = facts.pipeline.spec.live
    slower = "lower budget.bytesPerSecond in the contract, then rehearse again"
    lag, latency = found["live_lag_with"], found["live_latency_with"]
    if lag is None:
        words = "live's lag beside the replay was not measured: live's position was unknown"
        yield unknown(words, f"start live, then {REHEARSE}")
    elif live.max_lag_records is not None and lag > live.max_lag_records:
        words = f"beside the replay live was {lag:,} records behind; live.maxLagRecords is {live.max_lag_records:,}"
        yield failed(words, slower)
    if live.max_latency is not None:
        limit = f"live.maxLatency is {format_duration(live.max_latency)}"
        if latency is None:
            words = f"live's latency beside the replay was not measured: no record arrived meanwhile; {limit}"
            yield unknown(words, f"{REHEARSE} while records arrive")
        elif latency > live.max_latency.total_seconds():
            yield failed(f"beside the replay an event took {latency:.0f} s to reach the table; {limit}", slower)
    if live.max_lag_records is None and live.max_latency is None:
        words = "the pipeline sets no limit for live"
        yield untested(words, "set live.maxLagRecords and live.maxLatency in the pipeline")
