"""The approval of a project's plans and runs, for the commands."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.gates.approval.requests import ApprovalSubject
from anabranch.gates.approval.roles import require_operator
from anabranch.plan.plan_file import read_plan_file
from anabranch.promote.approved import RunApproval

if TYPE_CHECKING:
    from anabranch.app.backfill import BackfillRun


def approval_of(backfill: BackfillRun) -> RunApproval:
    loaded = backfill.project_context.loaded
    return RunApproval(backfill.store.reader, backfill.run_id, backfill.plan, loaded.settings, loaded.context)


def subject_of_plan(file: Path) -> ApprovalSubject:
    """A plan that `anabranch plan --out` wrote. Its author is known once it is submitted."""
    plan = read_plan_file(file).plan
    return ApprovalSubject(plan.hash, plan.contract)


def subject_of_run(backfill: BackfillRun) -> ApprovalSubject:
    return approval_of(backfill).subject


def is_cleared(backfill: BackfillRun, now: datetime) -> bool:
    """Whether no approval is missing, by the record alone."""
    return approval_of(backfill).is_given(now)


def approval_document(backfill: BackfillRun, now: datetime) -> dict[str, Any]:
    return approval_of(backfill).document(now)


def require_steering(backfill: BackfillRun, act: str) -> None:
    """Raise unless the actor may resume, throttle, cancel or close this run. Everybody may pause it: that protects."""
    from anabranch.app.backfill import operator

    require_operator(backfill.project_context.loaded.settings.roles, operator()[1], backfill.run, act)
