"""Validates a staged run: measures staging, reaches the verdict, and records it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline
from anabranch.crashpoints import reach
from anabranch.plan.plan import Plan
from anabranch.plan.slices import Slice
from anabranch.replay.ledger import CATCH_UP, SliceAccount
from anabranch.replay.staged import StagedRun
from anabranch.replay.staging import StagedSlice, Staging, StagingTarget, take_staging
from anabranch.runs.journal import Outcome
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import Event
from anabranch.validate.accepted import ValidationResult
from anabranch.validate.attribution import ControlStaging
from anabranch.validate.ports import ReportFiler, StagingMeasurer
from anabranch.validate.report import Verdict
from anabranch.validate.verdict import reach_verdict


@dataclass(frozen=True)
class ValidationRun:
    lease: RunLease
    contract: Callable[[], Backfill]
    """Loaded after the checks' files are compared with the plan: a contract with a missing file does not load."""
    pipeline: Pipeline
    target: StagingTarget
    measure: StagingMeasurer
    file_report: ReportFiler
    require_same_checks: Callable[[], None]
    """Raises DriftError if the pipeline or a file of a check is not as the plan pins it."""

    def __call__(self, staged: StagedRun, now: datetime, phase: Callable[[str], None]) -> ValidationResult:
        """Judge staging as it is now. The checks' files are compared with the plan before measuring and after."""
        self.require_same_checks()
        plan, staging = staged.plan, staged.staging
        run_id = self.lease.run_id
        self.lease.abandon_intents("validate", "its process ended")
        intent = f"{run_id}-validate-{self.lease.number('validate')}"
        entry = self.lease.record_intent("validate", {"staging": staging.head}, intent=intent)
        reach("validate.before")
        measures = self.measure(staging, self._control(staged), phase)
        self.require_same_checks()
        accounts = self._accounts(plan, staging)
        report = reach_verdict(measures, plan, self.contract(), self.pipeline, accounts, run=run_id, at=now)
        self.lease.check_epoch()
        self.file_report(report)
        reach("validate.after")
        details = {"staging": staging.head, "verdict": report.verdict.value, "digest": report.digest.text}
        self.lease.record_outcome(entry, Outcome.SUCCEEDED, details)
        self.lease.transition(Event.ACCEPT if report.verdict is Verdict.ACCEPTED else Event.REJECT, details)
        return ValidationResult.of(plan, report)

    def _control(self, staged: StagedRun) -> ControlStaging | None:
        """The control's rows, and staging before it caught up with live: both of the plan's own offsets."""
        plan, staging = staged.plan, staged.staging
        if plan.control is None:
            return None
        control = take_staging(self.lease, plan, self.target, control=True)
        planned = [each.head for each in self._staged(plan, staging) if not each.slice_id.startswith(CATCH_UP)]
        before_catch_up = planned[-1] if planned else staging.head
        return ControlStaging(control.head, before_catch_up, tuple(self._accounts(plan, control)))

    def _accounts(self, plan: Plan, staging: Staging) -> list[SliceAccount]:
        return [
            SliceAccount(Slice(each.slice_id, each.offsets), each.ledger.accounts, each.ledger.late)
            for each in self._staged(plan, staging)
        ]

    def _staged(self, plan: Plan, staging: Staging) -> list[StagedSlice]:
        return list(self.target.staged_slices(staging.name, plan.staging_base))
