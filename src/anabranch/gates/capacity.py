"""Gate: live keeps to its limits while the replay runs, by what a rehearsal has measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from anabranch.gates.colour import Colour
from anabranch.gates.facts import Facts
from anabranch.gates.gate import Finding, Judgement, aged, judged
from anabranch.project.quantities import format_duration

NAME = "capacity"
KIND = "rehearsal"
REHEARSE = "anabranch rehearse -f CONTRACT"


def judge(facts: Facts) -> Judgement:
    evidence, owner = facts.evidence.get(KIND), facts.pipeline.spec.owner
    if evidence is None:
        words = "what a replay does to live was never rehearsed"
        return Judgement(NAME, Colour.YELLOW, words, owner, facts.now, to_green=REHEARSE)
    found: Mapping[str, Any] = evidence.found
    judgement = judged(
        NAME,
        list(_findings(facts, found)),
        f"rehearsed at {found['records_per_second']:,.0f} records/s; live kept to its limits",
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


def _findings(facts: Facts, found: Mapping[str, Any]) -> Iterator[Finding]:
    live = facts.pipeline.spec.live
    slower = "a lower budget.bytesPerSecond in the contract, then rehearse again"
    lag, latency = found["live_lag_with"], found["live_latency_with"]
    if live.max_lag_records is not None and lag is not None and lag > live.max_lag_records:
        words = f"beside the replay live was {lag:,} records behind, and may be {live.max_lag_records:,}"
        yield Finding(Colour.RED, words, slower)
    if live.max_latency is not None and latency is not None and latency > live.max_latency.total_seconds():
        words = f"beside the replay an event took {latency:.0f} s, and may take {format_duration(live.max_latency)}"
        yield Finding(Colour.RED, words, slower)
    if live.max_lag_records is None and live.max_latency is None:
        words = "the pipeline does not say what live must keep to"
        yield Finding(Colour.YELLOW, words, "live: {maxLagRecords: …, maxLatency: …} in the pipeline")
    elif lag is None and latency is None:
        yield Finding(Colour.YELLOW, "live did not run while it was rehearsed", f"start live, then {REHEARSE}")
