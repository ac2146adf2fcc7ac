"""What the governor of one replay goes by: the context's settings, the pipeline, the contract, a rehearsal. Pure."""

from __future__ import annotations

from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.forecast.rehearsed import Rehearsed
from anabranch.plan.plan import Plan
from anabranch.project.sections.governor import GovernorSettings
from anabranch.replay.governor import Law
from anabranch.replay.pressure import NO_BASELINE, Baseline, Targets
from anabranch.runs.states import State

REPLAYS = frozenset({State.PLANNED, State.REPLAYING, State.PAUSED, State.FAILED})
"""States in which a replay begins or goes on; in any other it catches up with live."""
LONG_REPLAY = 1_000_000
"""Offsets above which a replay waits until live was observed without it."""


def law_of(settings: GovernorSettings, rehearsed: Rehearsed | None) -> Law:
    """By the rehearsed rate; of a rehearsal that was itself limited, by that of the context if it is higher."""
    reference = float(settings.reference_rate)
    if rehearsed is not None:
        limited = rehearsed.bytes_per_second_limit is not None
        reference = max(reference, rehearsed.bytes_per_second) if limited else rehearsed.bytes_per_second
    return Law(
        max(reference, 1.0),
        float(settings.minimum_rate),
        settings.tick.total_seconds(),
        settings.lost_hold.total_seconds(),
        settings.lost_minimum.total_seconds(),
        settings.lost_pause.total_seconds(),
    )


def targets_of(settings: GovernorSettings, pipeline: Pipeline) -> Targets:
    own = pipeline.spec.live
    return Targets(
        settings.lag.total_seconds(),
        settings.lag_limit.total_seconds(),
        settings.latency_ratio,
        settings.batch_ratio,
        own.max_lag_records,
        None if own.max_latency is None else own.max_latency.total_seconds(),
    )


def reason_off(settings: GovernorSettings, contract: Backfill, context: str) -> str | None:
    """Why the governor is switched off; None: it is not."""
    if contract.spec.governor is not None:
        return f"by the contract: {contract.spec.governor.off}"
    return None if settings.enabled else f"by governor.enabled of context {context}"


def rehearsed_baseline(rehearsed: Rehearsed | None) -> Baseline:
    if rehearsed is None or rehearsed.live_latency_without is None:
        return NO_BASELINE
    return Baseline(latency=rehearsed.live_latency_without, source="the rehearsal")


def seconds_alone(settings: GovernorSettings, plan: Plan, state: State) -> float:
    """For how long live is observed before the first slice, if no rehearsal observed it.

    Not to catch up with live: a promotion waits for it, and it is short.
    """
    offsets = sum(each.width for each in plan.slices)
    return settings.alone.total_seconds() if offsets > LONG_REPLAY and state in REPLAYS else 0.0
