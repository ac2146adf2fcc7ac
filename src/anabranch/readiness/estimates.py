"""Records the estimated cost of a plan, for the cost gate and the closure record."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from anabranch.errors import NOTHING_CHANGED, AnabranchError
from anabranch.gates.checks import cost as gate
from anabranch.gates.evidence import ACTION, Evidence, keep_evidence, read_evidence
from anabranch.plan.forecast.pricing import Estimate
from anabranch.plan.forecast.rehearsed import KIND, Rehearsed
from anabranch.plan.planner import Planned
from anabranch.readiness.rehearsals import valid_rehearsal
from anabranch.runs.store import RunReader, RunWriter

LIFETIME = timedelta(days=7)


class SizeUnknownError(AnabranchError):
    code = "cost.size-unknown"


def rehearsed_of(reader: RunReader, planned: Planned, now: datetime) -> Rehearsed | None:
    """The last rehearsal of this contract, code and byte rate, if it is still valid."""
    recorded = map(read_evidence, reader.audit(action=f"{ACTION}{KIND}"))
    return valid_rehearsal(recorded, planned.plan, planned.request.backfill, now)


def record_estimate(
    writer: RunWriter, planned: Planned, found: Estimate | None, *, by: str, now: datetime
) -> tuple[Estimate, Evidence]:
    """Record the estimate as evidence. Raises SizeUnknownError without one."""
    if found is None:
        raise SizeUnknownError(
            f"The size of topic {planned.plan.source.topic} is unknown: the cluster does not report it.",
            state=NOTHING_CHANGED,
            command="anabranch rehearse -f CONTRACT",
            hint="A rehearsal measures the size of records.",
            topic=planned.plan.source.topic,
        )
    subject, until = f"plan/{planned.plan.hash}", now + LIFETIME
    return found, keep_evidence(writer, gate.KIND, subject, found.evidence(), by=by, good_until=until)


def record_estimate_if_known(
    writer: RunWriter,
    planned: Planned,
    rehearsed: Rehearsed | None,
    estimate: Callable[[], Estimate | None],
    *,
    by: str,
    now: datetime,
) -> None:
    """Record the estimate of a plan before it is executed. No record if neither cluster nor rehearsal has the size."""
    if planned.estimates.bytes is not None or rehearsed is not None:
        record_estimate(writer, planned, estimate(), by=by, now=now)
