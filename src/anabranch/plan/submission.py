"""Submits a plan as a run, or finds the active run that the same contract led to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from anabranch.contract.backfill import Backfill
from anabranch.plan.plan import Plan
from anabranch.plan.request import contract_hash
from anabranch.project.model import as_plain
from anabranch.runs.ranges import TargetRange
from anabranch.runs.run import NewRun, Run
from anabranch.runs.states import ACTIVE
from anabranch.runs.store import RunReader, RunWriter


def submit(writer: RunWriter, plan: Plan, contract: Mapping[str, object], *, now: datetime, actor: str) -> Run:
    """The run of this plan: a new one, or the active one that the same contract led to."""
    target = plan.target
    run_id = f"{now:%Y%m%d-%H%M%S}-{plan.hash[:6]}"
    claim = TargetRange(target.table, target.partitions.start, target.partitions.end)
    new = NewRun(run_id, plan.pipeline, claim, plan.contract, plan.hash, actor, contract, plan.document())
    return writer.submit(new, actor=actor).run


def submit_once(reader: RunReader, pipeline: str, contract: Backfill, submit_new: Callable[[], Run]) -> Run:
    """The active run of this very contract, whatever has changed in the table since it was planned; or a new one."""
    wanted = contract_hash(as_plain(contract)), pipeline
    active = next((run for run in reader.runs(states=ACTIVE) if (run.contract_hash, run.pipeline) == wanted), None)
    return active or submit_new()
