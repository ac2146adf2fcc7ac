"""Builds the governor of one replay: its law by the rehearsal, its signals by the monitor; or none where it is off."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any, Protocol

from anabranch.app.live_monitor import live_monitor
from anabranch.app.project_context import ProjectContext
from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline
from anabranch.gates.evidence import ACTION, read_evidence
from anabranch.plan.forecast.rehearsed import KIND
from anabranch.plan.plan import Plan
from anabranch.readiness.rehearsals import valid_rehearsal
from anabranch.replay.allowance import RateSource
from anabranch.replay.governing import Governor, SwitchedOff
from anabranch.replay.governor_terms import law_of, reason_off, rehearsed_baseline, seconds_alone, targets_of
from anabranch.replay.pacing import ReadCount
from anabranch.replay.pressure import Watched
from anabranch.runs.run_lease import RunLease

OFF = "governor.off"
"""The action under which it is recorded that a replay was not governed, with the reason."""


class RateGovernor(RateSource, Protocol):
    def document(self) -> Mapping[str, Any]: ...


@contextmanager
def governing(
    project_context: ProjectContext, lease: RunLease, plan: Plan, pipeline: Pipeline, meter: ReadCount
) -> Iterator[RateGovernor]:
    rules = project_context.loaded.settings.governor
    document = lease.reader.documents(lease.run_id).contract
    contract = Backfill.model_validate(document, context=project_context.loaded.surroundings)
    off = reason_off(rules, contract, project_context.loaded.context)
    if off is not None:
        lease.writer.record_act(OFF, actor=lease.actor, run_id=lease.run_id, details={"reason": off})
        yield SwitchedOff(off)
        return
    recorded = map(read_evidence, lease.reader.audit(action=f"{ACTION}{KIND}"))
    rehearsed = valid_rehearsal(recorded, plan, contract, datetime.now(timezone.utc))
    with live_monitor(project_context, pipeline, plan.source, expected=not plan.target.no_live_writer) as monitor:
        yield Governor(
            law_of(rules, rehearsed),
            targets_of(rules, pipeline),
            monitor,
            time.monotonic,
            lambda: meter.bytes,
            Watched(rehearsed=rehearsed_baseline(rehearsed)),
            seconds_alone(rules, plan, lease.run.state),
            rules.stops,
        )
