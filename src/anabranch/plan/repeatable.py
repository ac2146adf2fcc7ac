"""Refuses a transform with non-deterministic calls, except those that its pipeline allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anabranch.contract.determinism.calls import Unpinned
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.forecast.estimates import Estimates, PlanWarning
from anabranch.plan.refusals import PlanRefusedError


class NotRepeatableError(PlanRefusedError):
    code = "plan.not-repeatable"


def require_repeatable(pipeline: Pipeline, calls: Sequence[Unpinned]) -> tuple[Unpinned, ...]:
    """The calls that the pipeline allows by name, to be listed in the plan. Raises for any other."""
    allowed = set(pipeline.spec.transform.allow or ())
    refused = [each for each in calls if each.name not in allowed]
    if refused:
        first = refused[0]
        more = f" {len(refused) - 1} more places are like it." if len(refused) > 1 else ""
        raise NotRepeatableError(
            f"{first.place} calls {first.name}, which is not deterministic: a replay would write other rows than "
            f"live for the same events, and the fix could not be told from that difference.{more}",
            hint=f"use {first.instead}; or, if it is intended, write transform: {{allow: [{first.name}]}} in the "
            "pipeline",
            places=[{"place": each.place, "name": each.name, "instead": each.instead} for each in refused],
        )
    return tuple(calls)


def with_unpinned(estimates: Estimates, allowed: Sequence[Unpinned]) -> Estimates:
    """The estimates with a warning for the allowed calls: two replays then give different digests of rows."""
    if not allowed:
        return estimates
    places = ", ".join(f"{each.name} at {each.place}" for each in allowed)
    text = f"the pipeline allows non-deterministic calls ({places}): two replays give different rows"
    return replace(estimates, cautions=(*estimates.cautions, PlanWarning("not-repeatable", text)))
