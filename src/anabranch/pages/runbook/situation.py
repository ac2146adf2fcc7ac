"""The input of a runbook: the records of a run, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from anabranch.close.horizon import RollbackHorizon, horizon_length, rollback_horizon
from anabranch.gates.approval.approval import Approval, ApprovalStatus
from anabranch.gates.evidence import Evidence
from anabranch.plan.plan import Plan
from anabranch.project.sections.approval import RoleSettings
from anabranch.runs.audit import AuditRecord
from anabranch.runs.journal import JournalEntry, Outcome
from anabranch.runs.run import Run


@dataclass(frozen=True)
class Situation:
    run: Run
    context: str
    contract_file: str
    """Path of the contract below the project's folder."""
    contract: Mapping[str, Any]
    """As it was submitted."""
    plan: Plan
    journal: Sequence[JournalEntry]
    records: Sequence[AuditRecord]
    """The run's own, in the order of the chain."""
    roles: RoleSettings
    needs_approval: bool
    author_may_promote: bool
    approvals: Sequence[Approval]
    standing: ApprovalStatus
    at: datetime
    staging: Mapping[str, str] = field(default_factory=dict)
    """Names of the run's staging in the target, by their kind, such as Branch."""
    kept: Mapping[str, str] = field(default_factory=dict)
    """Names in the target of the states before the promotion and of it, by their kind, such as Tag."""
    validation: Mapping[str, Any] | None = None
    """The report of the last validation, if it is on this machine."""
    evidence: Sequence[Evidence] = field(default_factory=tuple)
    """The newest of each kind for this run's plan, pipeline, table, topic and cluster."""

    @property
    def spec(self) -> Mapping[str, Any]:
        spec: Mapping[str, Any] = self.contract["spec"]
        return spec

    @property
    def authority(self) -> str:
        """Who the contract authorizes to order a rollback."""
        return str(self.spec["rollback"]["authority"])

    @property
    def rollback_horizon(self) -> RollbackHorizon | None:
        """The horizon of this run's promotion, open or over. None if production has no promotion of this run."""
        return rollback_horizon(self.run.state, self.journal, horizon_length(self.contract))

    def measured(self, *kinds: str) -> list[Evidence]:
        return [each for each in self.evidence if each.kind in kinds]

    def done(self, step: str) -> list[JournalEntry]:
        """The steps of this name that succeeded, oldest first."""
        return [each for each in self.journal if each.step == step and each.outcome is Outcome.SUCCEEDED]

    def command(self, words: str) -> str:
        """A command to run in the project's folder."""
        return f"anabranch {words} --context {self.context}"
