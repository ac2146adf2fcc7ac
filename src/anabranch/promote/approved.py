"""Whether a run may be promoted: accepted by validation, and approved as far as the context requires."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from anabranch.gates.approval.approval import ApprovalContext, ApprovalStatus, approval_status, approvals_of
from anabranch.gates.approval.refusals import explain, next_approval, require_approval
from anabranch.gates.approval.requests import ApprovalSubject
from anabranch.gates.approval.roles import require_promoter
from anabranch.plan.plan import Plan
from anabranch.project.project import ContextSettings
from anabranch.promote.promotion import ApprovalNotRequired, ApprovedRun
from anabranch.replay.staging import Staging, StagingCommit, grown_from
from anabranch.runs.heads import Head
from anabranch.runs.run_lease import RunLease
from anabranch.runs.store import RunReader
from anabranch.validate.accepted import accepted_run, last_accepted


class StagingHistory(Protocol):
    def staging_commits(self, staging: str, base: Head) -> Sequence[StagingCommit]:
        """Every commit to staging since `base`, oldest first."""


def extension_withheld(approval: RunApproval | None, settings: ContextSettings, now: datetime) -> str | None:
    """Why a run may not extend its topic's retention now; None: it may. `approval` is None before it is submitted."""
    if not settings.needs_approval:
        return None
    if approval is None:
        return "an extension needs an approval of the plan: `anabranch approve PLAN`"
    if approval.is_given(now):
        return None
    return f"an extension needs an approval: `anabranch approve {approval.run_id}`"


@dataclass(frozen=True)
class RunApproval:
    """The approval of one run in one context."""

    reader: RunReader
    run_id: str
    plan: Plan
    settings: ContextSettings
    context: str

    @property
    def subject(self) -> ApprovalSubject:
        run = self.reader.run(self.run_id)
        return ApprovalSubject(self.plan.hash, run.contract_hash, run, last_accepted(self.reader, self.run_id))

    def status(self, now: datetime, grown: frozenset[Head] | None = None) -> ApprovalStatus:
        """By recorded approvals; with `grown` also by staging: its heads since which only live was caught up."""
        run = self.reader.run(self.run_id)
        # The plan as it would be executed, not the hash that was recorded when it was submitted.
        present = ApprovalContext(run.author, self.plan.hash, self.settings.roles.approvers, grown)
        return approval_status(approvals_of(self.reader, run), present, now)

    def is_given(self, now: datetime) -> bool:
        """Whether every required approval is recorded. Does not observe staging."""
        return not self.settings.needs_approval or self.status(now).holds

    def document(self, now: datetime) -> dict[str, Any]:
        """The approval's status, for people and scripts."""
        status, needed = self.status(now), self.settings.needs_approval
        words = "not required in this context"
        if status.approval is not None and status.flaw is not None:
            words = f"void: {explain(status.approval, status.flaw)}"
        elif status.approval is not None:
            words = f"by {status.approval.by} until {status.approval.good_until:%Y-%m-%d %H:%M} UTC"
        elif needed:
            words = f"needed: {next_approval(self.reader.run(self.run_id))}"
        newest = None if status.approval is None else status.approval.document()
        return {"needed": needed, "holds": status.holds, "words": words, "newest": newest}

    def require(self, lease: RunLease, target: StagingHistory, staging: Staging, now: datetime) -> ApprovedRun:
        """The accepted and approved run. Raises if validation, approval or the actor's role is missing."""
        needed, run = self.settings.needs_approval, lease.run
        author_may = self.settings.approval.author_may_promote or not needed
        require_promoter(self.settings.roles, lease.actor, run, author_may=author_may)
        accepted = accepted_run(lease.reader, run.id, self.plan)
        if not needed:
            return ApprovedRun(accepted, ApprovalNotRequired(self.context))
        root = self.plan.staging_base
        grown = grown_from(root, target.staging_commits(staging.name, root))
        return ApprovedRun(accepted, require_approval(self.status(now, grown), run))
