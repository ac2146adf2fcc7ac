"""Holds a transform to giving the same rows for the same events, or to saying where it does not on purpose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anabranch.contract.determinism.calls import Unpinned
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.forecast.estimates import Estimates, PlanWarning
from anabranch.plan.refusals import PlanRefusedError


class NotRepeatableError(PlanRefusedError):
    code = "plan.not-repeatable"


def require_repeatable(pipeline: Pipeline, found: Sequence[Unpinned]) -> tuple[Unpinned, ...]:
    """What the pipeline allows by name, to be shown in the plan; anything else is refused."""
    allowed = set(pipeline.spec.transform.allow or ())
    refused = [each for each in found if each.name not in allowed]
    if refused:
        first = refused[0]
        more = f" There are {len(refused) - 1} more such places." if len(refused) > 1 else ""
        raise NotRepeatableError(
            f"{first.place} calls {first.name}, which gives another result each time: a replay would write other rows "
            f"than live for the same events, and nobody could tell the fix from the noise.{more}",
            hint=f"write {first.instead}; or, if it is meant so, transform: {{allow: [{first.name}]}} in the pipeline",
            places=[{"place": each.place, "name": each.name, "instead": each.instead} for each in refused],
        )
    return tuple(found)


def with_unpinned(outlook: Estimates, allowed: Sequence[Unpinned]) -> Estimates:
    """The outlook with every call that is allowed on purpose: no two replays give the same digest of rows."""
    if not allowed:
        return outlook
    places = ", ".join(f"{each.name} at {each.place}" for each in allowed)
    words = f"the pipeline allows calls that give another result each time ({places}): two replays give different rows"
    return replace(outlook, cautions=(*outlook.cautions, PlanWarning("not-repeatable", words)))
