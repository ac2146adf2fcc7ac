"""What a run still has to read, and when the topic deletes it, for its gates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from anabranch.gates.collect import STILL_READING
from anabranch.gates.facts import RetentionReading
from anabranch.plan.forecast.rehearsed import variants_of
from anabranch.plan.plan import Plan
from anabranch.plan.retention.facts import RetentionObserver
from anabranch.plan.slices import Slice
from anabranch.plan.steps import ControlSlice, ReplaySlice
from anabranch.replay.retention_extension import STEP, without_extensions
from anabranch.runs.journal import Outcome
from anabranch.runs.store import RunReader


def read_retention(
    reader: RunReader, plan: Plan, run: str | None, observer: RetentionObserver, withheld: Callable[[], str | None]
) -> RetentionReading | None:
    """None: nothing is left to read. `run` is None for a plan that was not submitted."""
    slices = plan.slices if run is None else unread_slices(reader, plan, run)
    if not slices:
        return None
    facts = without_extensions(observer.measure(slices), reader.open_steps(STEP))
    return RetentionReading(facts, slices, withheld())


def unread_slices(reader: RunReader, plan: Plan, run: str) -> tuple[Slice, ...]:
    """The slices that the run has not committed, with a control in either variant."""
    if reader.run(run).state not in STILL_READING:
        return ()
    done = Counter(
        str(each.details["slice"])
        for each in reader.journal(run)
        if each.step in (ReplaySlice.name, ControlSlice.name) and each.outcome is Outcome.SUCCEEDED
    )
    return tuple(each for each in plan.slices if done[each.id] < variants_of(plan))
