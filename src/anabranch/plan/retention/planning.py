"""The race as a plan has it: by what the plan permits, and with slices cut by expiry where that wins it. Pure."""

from __future__ import annotations

from dataclasses import replace

from typing_extensions import assert_never

from anabranch.contract.backfill import Backfill
from anabranch.plan.plan import Plan
from anabranch.plan.retention.cutting import cut_by_expiry
from anabranch.plan.retention.decision import Extension, Options, RaceAnswer, RaceDecision, Share, decide
from anabranch.plan.retention.facts import RetentionFacts
from anabranch.plan.retention.race import lateness
from anabranch.plan.retention.rate import ReplayRate
from anabranch.plan.slices import Slice, slice_size
from anabranch.plan.strategies.strategy import Strategy

_ANSWERS = tuple(RaceAnswer)


def race_options(plan: Plan, contract: Backfill, *, share: Share | None = None, withheld: str | None = None) -> Options:
    """What this plan and its contract permit. `withheld`: why a permitted extension may not be used now."""
    terms = contract.spec.retention
    extension = None if terms is None else Extension(round(terms.extend_up_to.total_seconds() * 1000), withheld)
    return Options(fixed_order(plan.strategy), share, extension)


def fixed_order(strategy: Strategy) -> str | None:
    """Why slices must be replayed in the plan's order; None: each is on its own."""
    match strategy:
        case Strategy.REPLACE_RANGE:
            return None
        case Strategy.MERGE_FORWARD | Strategy.RERUN_TAIL:
            return "the rows of a key depend on the order of its events"
        case Strategy.WINDOWS:
            return "slices of windows are replayed in the order of event time"
        case Strategy.STREAM:
            return "live's batches are repeated in their order"
        case _:
            assert_never(strategy)


def race_of_plan(
    plan: Plan, facts: RetentionFacts, rate: ReplayRate | None, options: Options, offsets_per_slice: int | None
) -> tuple[tuple[Slice, ...], RaceDecision]:
    """The slices, and the decision for them. They are cut by expiry only where that wins or is less late."""
    seconds, words = (None, None) if rate is None else (rate.seconds, rate.words)
    decision = decide(plan.slices, seconds, facts, options, words)
    if decision.answer in (RaceAnswer.ENOUGH_TIME, RaceAnswer.SOONEST_FIRST) or options.fixed_order is not None:
        return plan.slices, decision
    size = offsets_per_slice or slice_size(plan.source.ranges)
    cut = cut_by_expiry(plan.source.ranges, size, facts)
    again = decide(cut, seconds, facts, options, words)
    if _rank(again) >= _rank(decision):
        return plan.slices, decision
    answer = RaceAnswer.SOONEST_FIRST if again.answer is RaceAnswer.ENOUGH_TIME else again.answer
    steps = (decision.steps[0], *(f"cut by expiry, {each}" for each in again.steps))
    return cut, replace(again, answer=answer, steps=steps)


def _rank(decision: RaceDecision) -> tuple[int, float]:
    return _ANSWERS.index(decision.answer), lateness(decision.race)
