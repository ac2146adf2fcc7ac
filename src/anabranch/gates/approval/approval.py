"""Approvals of plans and staged rows, and their validity. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import Enum

from anabranch.runs.audit import AuditRecord
from anabranch.runs.canonical import instant, instant_text
from anabranch.runs.heads import Head
from anabranch.runs.run import Run
from anabranch.runs.states import Event
from anabranch.runs.store import RunReader

GIVEN = "approval.given"
REVOKED = "approval.revoked"
TAKEN_OUT = f"run.{Event.FINISH_ROLLBACK.value}"


class ApprovalFlaw(str, Enum):
    """Why an approval is not valid."""

    PLAN_CHANGED = "plan changed"
    """It was given to another plan of the same contract."""
    REVOKED = "revoked"
    ROLLED_BACK = "rolled back"
    """The run was promoted on it and rolled back: promoting it again needs a new approval."""
    BY_AUTHOR = "by the author"
    NOT_APPROVER = "not by an approver"
    STAGING_CHANGED = "staging changed"
    """The staged rows differ from the approved ones by more than catching up with live."""
    EXPIRED = "expired"


@dataclass(frozen=True)
class AcceptedStaging:
    """The staging snapshot and digest that validation had accepted when the approval was given."""

    staging: Head
    digest: str


@dataclass(frozen=True)
class ApprovalEnd:
    """The event that ended an approval permanently."""

    flaw: ApprovalFlaw
    by: str
    at: datetime
    reason: str | None = None


@dataclass(frozen=True)
class Approval:
    number: int
    """Of its audit record."""
    by: str
    at: datetime
    good_until: datetime
    plan: str
    contract: str
    judged: AcceptedStaging | None
    """None: given before rows were staged; it covers every result of the plan that validation accepts."""
    reason: str | None
    end: ApprovalEnd | None = None

    def document(self) -> dict[str, object]:
        end = self.end
        return {
            "number": self.number,
            "by": self.by,
            "at": instant_text(self.at),
            "good_until": instant_text(self.good_until),
            "plan": self.plan,
            "validated": None if self.judged is None else asdict(self.judged),
            "reason": self.reason,
            "ended": None
            if end is None
            else {"by": end.by, "at": instant_text(end.at), "how": end.flaw.value, "reason": end.reason},
        }


@dataclass(frozen=True)
class ApprovalContext:
    """The present state of the run to promote."""

    author: str
    plan: str
    approvers: Collection[str]
    """Empty: everybody but the author."""
    grown_from: frozenset[Head] | None
    """The staging head and those heads since which only live was caught up. None: not observed."""


@dataclass(frozen=True)
class ApprovalStatus:
    """The valid approval, or the newest one and its flaw; neither without any approval."""

    approval: Approval | None = None
    flaw: ApprovalFlaw | None = None

    @property
    def holds(self) -> bool:
        return self.approval is not None and self.flaw is None


def given(
    plan: str, contract: str, judged: AcceptedStaging | None, reason: str | None, good_until: datetime
) -> dict[str, object]:
    """The details of an approval's audit record."""
    validated = None if judged is None else asdict(judged)
    until = instant_text(good_until)
    return {"plan": plan, "contract": contract, "validated": validated, "reason": reason, "good_until": until}


def approvals_of(reader: RunReader, run: Run) -> tuple[Approval, ...]:
    """Every approval of this contract, of the run's plan or another, oldest first, with its end."""
    records = [*reader.audit(action=GIVEN), *reader.audit(action=REVOKED)]
    records += reader.audit(run_id=run.id, action=TAKEN_OUT)
    return read_approvals(sorted(records, key=lambda record: record.seq), run.contract_hash, run.plan_hash)


def read_approvals(records: Iterable[AuditRecord], contract: str, plan: str) -> tuple[Approval, ...]:
    """Fold audit records, oldest first. `plan` is that of the run whose rollbacks are among them."""
    approvals: list[Approval] = []
    for record in records:
        details = json.loads(record.details)
        if record.action == GIVEN and details["contract"] == contract:
            approvals.append(_read(record))
        elif record.action == REVOKED:
            end = ApprovalEnd(ApprovalFlaw.REVOKED, record.actor, instant(record.at), details["reason"])
            approvals = [_ended(each, end, details["plan"]) for each in approvals]
        elif record.action == TAKEN_OUT:
            end = ApprovalEnd(ApprovalFlaw.ROLLED_BACK, record.actor, instant(record.at))
            approvals = [_ended(each, end, plan) for each in approvals]
    return tuple(approvals)


def approval_status(approvals: Sequence[Approval], present: ApprovalContext, now: datetime) -> ApprovalStatus:
    """The newest valid approval; if none is, the newest and its flaw."""
    newest_first = [ApprovalStatus(each, _flaw(each, present, now)) for each in reversed(approvals)]
    return next((each for each in newest_first if each.holds), newest_first[0] if newest_first else ApprovalStatus())


def _flaw(approval: Approval, present: ApprovalContext, now: datetime) -> ApprovalFlaw | None:
    if approval.plan != present.plan:
        return ApprovalFlaw.PLAN_CHANGED
    if approval.end is not None:
        return approval.end.flaw
    if approval.by == present.author:
        return ApprovalFlaw.BY_AUTHOR
    if present.approvers and approval.by not in present.approvers:
        return ApprovalFlaw.NOT_APPROVER
    judged, grown_from = approval.judged, present.grown_from
    if judged is not None and grown_from is not None and judged.staging not in grown_from:
        return ApprovalFlaw.STAGING_CHANGED
    return ApprovalFlaw.EXPIRED if now >= approval.good_until else None


def _ended(approval: Approval, end: ApprovalEnd, plan: str) -> Approval:
    return replace(approval, end=end) if approval.end is None and approval.plan == plan else approval


def _read(record: AuditRecord) -> Approval:
    details = json.loads(record.details)
    validated = details["validated"]
    return Approval(
        number=record.seq,
        by=record.actor,
        at=instant(record.at),
        good_until=instant(details["good_until"]),
        plan=details["plan"],
        contract=details["contract"],
        judged=None if validated is None else AcceptedStaging(**validated),
        reason=details["reason"],
    )
