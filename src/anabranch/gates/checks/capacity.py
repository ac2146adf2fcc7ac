"""Gate: live stays within its limits while the replay runs, by a rehearsal and the measured effect on live.

Green only by the upper end of the effect's 95 % interval, or by no effect where one that matters would have been found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import exp, log
from typing import Any

from anabranch.gates.binding import byte_rate
from anabranch.gates.facts import GateFacts
from anabranch.gates.gate import GateFinding, Judgement, aged, failed, judged, unknown, untested
from anabranch.gates.impact import measured
from anabranch.gates.impact.effect import LEAST_PAIRS, PairedEffect
from anabranch.gates.impact.measured import Impact, lag_words, latency_words, read_impact
from anabranch.project.quantities import format_duration, format_rate

NAME = "capacity"
KIND = "rehearsal"
REHEARSE = "anabranch rehearse -f CONTRACT"
MEASURE = "anabranch rehearse -f CONTRACT --pairs 12"
DETECTABLE_RATIO = 1.25
"""No effect on latency counts as none if one of this ratio would have been found: the governor's target for latency."""
DETECTABLE_LAG = 0.1
"""No effect on lag counts as none if one of this share of `live.maxLagRecords` would have been found."""


def judge_capacity(facts: GateFacts) -> Judgement:
    evidence, owner = facts.evidence.get(KIND), facts.pipeline.spec.owner
    if evidence is None:
        words = "this contract was not rehearsed: its effect on live is unknown"
        findings = [unknown(words, REHEARSE), *_of_quota(facts)]
        return judged(NAME, findings, "", owner=owner, at=facts.now)
    found: Mapping[str, Any] = evidence.found
    impact = _impact(facts)
    judgement = judged(
        NAME,
        [*_findings(facts, found, impact), *_of_quota(facts)],
        f"rehearsed at {found['records_per_second']:,.0f} records/s; live stays within its limits"
        + ("" if impact is None else f". {latency_words(impact)} {lag_words(impact)}"),
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
        }
        | {"impact": None if impact is None else _figures(impact)},
    )
    return aged(judgement, evidence, facts.now, REHEARSE)


def _impact(facts: GateFacts) -> Impact | None:
    """The measured effect; None: it was never measured for this contract, or too long ago."""
    evidence = facts.evidence.get(measured.KIND)
    return None if evidence is None or not evidence.counts(facts.now) else read_impact(evidence.found)


def _figures(impact: Impact) -> dict[str, Any]:
    document = impact.document()
    return {name: document[name] for name in ("latency", "lag", "latency_without", "lag_without", "bytes_per_second")}


def _findings(facts: GateFacts, found: Mapping[str, Any], impact: Impact | None) -> Iterator[GateFinding]:
    """Each limit that is set must have been measured, and not exceeded."""
    live, ungoverned = facts.pipeline.spec.live, facts.contract.spec.governor
    if ungoverned is not None:
        words = f"the contract switches the governor off, so that nothing slows the replay for live: {ungoverned.off}"
        yield unknown(words, "remove governor from the contract")
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
    elif impact is None:
        yield untested("the effect on live was not measured in pairs of blocks with and without the replay", MEASURE)
    else:
        yield from _effects(facts, impact, slower)


def _effects(facts: GateFacts, impact: Impact, slower: str) -> Iterator[GateFinding]:
    live, rate = facts.pipeline.spec.live, byte_rate(facts.contract)
    if impact.bytes_per_second is not None and (rate is None or impact.bytes_per_second < rate):
        allowed = "any rate" if rate is None else f"{format_rate(rate)}"
        words = f"the effect on live was measured at {format_rate(impact.bytes_per_second)}; the contract allows"
        yield untested(f"{words} {allowed}", MEASURE)
    if live.max_latency is not None:
        limit, worst = live.max_latency.total_seconds(), impact.latency_without

        def seconds(effect: float) -> float | None:
            return None if worst is None else worst * exp(effect)

        set_to = f"live.maxLatency is {format_duration(live.max_latency)}"
        small = log(DETECTABLE_RATIO)
        yield from _effect(impact.latency, seconds, limit, "live latency", "s", set_to, small, slower)
    if live.max_lag_records is not None:
        most, behind = live.max_lag_records, impact.lag_without

        def records(effect: float) -> float | None:
            return None if behind is None else behind + effect

        set_to, small = f"live.maxLagRecords is {most:,}", DETECTABLE_LAG * most
        yield from _effect(impact.lag, records, most, "live lag", "records", set_to, small, slower)


def _effect(
    effect: PairedEffect | None,
    reached: Callable[[float], float | None],
    limit: float,
    what: str,
    unit: str,
    set_to: str,
    small: float,
    slower: str,
) -> Iterator[GateFinding]:
    """`reached` is where an effect takes the worst value of the blocks without the replay."""
    if effect is None or effect.low is None or effect.high is None or effect.detectable is None:
        count = 0 if effect is None else effect.pairs
        words = f"no 95 % statement on {what}: {count} of at least {LEAST_PAIRS} pairs count; {set_to}"
        yield untested(words, f"{MEASURE} while records arrive")
        return
    low, high, without = reached(effect.low), reached(effect.high), reached(0.0)
    if low is None or high is None or without is None:
        yield untested(f"{what} without the replay is unknown; {set_to}", MEASURE)
    elif effect.low > 0 and low > limit:
        words = f"with the replay {what} reaches at least {low:,.1f} {unit} (lower end of the 95 % interval); {set_to}"
        yield failed(words, slower)
    elif high > limit and (effect.is_found or effect.detectable > small or without > limit):
        words = f"with the replay {what} may reach {high:,.1f} {unit} (upper end of the 95 % interval); {set_to}"
        yield untested(words, f"{slower}, or measure more pairs: {MEASURE}")


def _of_quota(facts: GateFacts) -> Iterator[GateFinding]:
    """Without a quota only the client limits what brokers send, and nothing limits what they are sending already."""
    if facts.quota is not None and facts.quota.enabled and facts.quota.refused is not None:
        words = f"the brokers hold no quota for this replay, only its client limits it: {facts.quota.refused}"
        yield untested(words, "allow AlterConfigs and DescribeConfigs on the cluster, or set kafka.quota: false")
