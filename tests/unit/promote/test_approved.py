"""Whether a run may be promoted: its validation, its approval and the actor's role, on a real run store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.errors import AnabranchError
from anabranch.gates.approval.requests import approve, revoke
from anabranch.plan.plan import Plan, PlannedSource, PlannedTarget
from anabranch.plan.target_range import Grain, PartitionRange, TimeAxis
from anabranch.project.project import ContextSettings
from anabranch.promote.approved import RunApproval
from anabranch.promote.promotion import ApprovalNotRequired
from anabranch.replay.staging import Staging, StagingCommit
from anabranch.runs.heads import Head
from anabranch.runs.journal import Outcome
from anabranch.runs.ranges import TargetRange
from anabranch.runs.run import NewRun
from anabranch.runs.run_lease import LEASE_DURATION, RunLease
from anabranch.runs.states import Event

RUN, AUTHOR = "r1", "ann"
NOW = datetime(2025, 7, 1, tzinfo=timezone.utc)
LATER = NOW + timedelta(days=30)
BASE, STAGED, CAUGHT_UP, EDITED = (Head(each) for each in ("7", "41", "42", "43"))
PART = PartitionRange(TimeAxis("at", Grain.DAY), 0, 1)
PLAN = Plan(
    pipeline="orders",
    contract="c1",
    code="fixed",
    source=PlannedSource("shop.orders", "u1", 1, {0: ((0, 50),)}, {0: 50}),
    target=PlannedTarget("shop.orders", BASE, "schema", PART, None, None),
    slices=(),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlRunStore]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        new = NewRun(RUN, "orders", TargetRange("shop.orders"), "c1", PLAN.hash, AUTHOR, {}, PLAN.document())
        opened.writer.submit(new, actor=AUTHOR)
        yield opened


def context(**sections: dict[str, Any]) -> ContextSettings:
    return ContextSettings.model_validate({"approval": {"required": True}, **sections})


@dataclass
class StagingLine:
    """The commits to staging since its base."""

    commits: tuple[StagingCommit, ...] = (StagingCommit(STAGED, "s00000"),)

    def staging_commits(self, staging: str, base: Head) -> Sequence[StagingCommit]:
        assert (staging, base) == ("ab_r1_e1", BASE)
        return self.commits


@dataclass
class Desk:
    """The run in one context, promoted by `actor`."""

    store: SqlRunStore
    settings: ContextSettings
    line: StagingLine

    @property
    def approval(self) -> RunApproval:
        return RunApproval(self.store.reader, RUN, PLAN, self.settings, "prod")

    def lease(self, actor: str = "ops") -> RunLease:
        taken = self.store.writer.acquire(RUN, "driver", LEASE_DURATION, actor=actor, take_over=True)
        return RunLease(self.store.reader, self.store.writer, RUN, taken.epoch, actor)

    def validate(self, verdict: str = "accepted", head: Head = STAGED) -> None:
        lease = self.lease()
        for event in (Event.START, Event.STAGE):
            lease.transition(event)
        entry = lease.record_intent("validate", {"staging": head}, intent="r1-validate-1")
        lease.record_outcome(entry, Outcome.SUCCEEDED, {"staging": head, "verdict": verdict, "digest": "d"})
        lease.transition(Event.ACCEPT if verdict == "accepted" else Event.REJECT)

    def approve(self, who: str = "bob") -> None:
        approve(self.store, self.settings, self.approval.subject, who=who, reason=None, now=NOW)

    def require(self, actor: str = "ops", now: datetime = NOW) -> Any:
        staging = Staging(RUN, 1, "ab_r1_e1", self.line.commits[-1].head, PART)
        return self.approval.require(self.lease(actor), self.line, staging, now)

    def refused(self, actor: str = "ops", now: datetime = NOW) -> str:
        with pytest.raises(AnabranchError) as error:
            self.require(actor, now)
        return error.value.code


@pytest.fixture
def desk(store: SqlRunStore) -> Desk:
    return Desk(store, context(), StagingLine())


def test_an_accepted_and_approved_run_is_promoted_with_both_on_record(desk: Desk) -> None:
    desk.validate()
    desk.approve()
    approved = desk.require()
    assert (approved.accepted.head, approved.approval.by) == (STAGED, "bob")


def test_a_run_without_an_accepted_validation_is_refused_before_its_approval_is_read(desk: Desk) -> None:
    assert desk.refused() == "promote.not-validated"
    desk.validate("rejected")
    assert desk.refused() == "promote.not-validated"


def test_without_an_approval_it_is_refused(desk: Desk) -> None:
    desk.validate()
    assert desk.refused() == "approval.missing"
    assert not desk.approval.is_given(NOW)


def test_a_context_that_requires_none_accepts_the_run_and_says_so(desk: Desk) -> None:
    desk.settings = context(approval={"required": False})
    desk.validate()
    assert desk.require().approval == ApprovalNotRequired("prod")
    assert desk.approval.is_given(NOW)
    assert desk.approval.document(NOW)["words"] == "not required in this context"


def test_slices_of_live_after_the_approved_staging_leave_the_approval_valid(desk: Desk) -> None:
    desk.validate()
    desk.approve()
    desk.line = StagingLine((StagingCommit(STAGED, "s00000"), StagingCommit(CAUGHT_UP, "live-9")))
    assert desk.require().approval.by == "bob"


@pytest.mark.parametrize("slice_id", [None, "s00000"], ids=["a stranger's commit", "a planned slice again"])
def test_any_other_commit_to_staging_ends_the_approval(desk: Desk, slice_id: str | None) -> None:
    desk.validate()
    desk.approve()
    desk.line = StagingLine((StagingCommit(STAGED, "s00000"), StagingCommit(EDITED, slice_id)))
    assert desk.refused() == "approval.staging-changed"
    assert desk.approval.is_given(NOW), "by the record alone it holds: staging was not observed"


def test_an_approval_given_before_anything_was_staged_covers_what_the_plan_leads_to(desk: Desk) -> None:
    desk.approve()
    desk.validate()
    assert desk.require().approval.judged is None


def test_expired_and_revoked_approvals_are_refused_and_described(desk: Desk) -> None:
    desk.validate()
    desk.approve()
    assert desk.refused(now=LATER) == "approval.expired"
    revoke(desk.store, desk.approval.subject, who="eve", reason="wrong month")
    assert desk.refused() == "approval.revoked"
    document = desk.approval.document(NOW)
    assert (document["needed"], document["holds"]) == (True, False)
    assert document["words"] == "void: it was revoked by eve (wrong month)"
    assert document["newest"]["by"] == "bob"


def test_the_status_names_who_approved_until_when_or_what_is_needed(desk: Desk) -> None:
    desk.validate()
    assert desk.approval.document(NOW)["words"] == (
        "needed: anabranch approve r1, by a person other than its author ann"
    )
    desk.approve()
    assert desk.approval.document(NOW)["words"] == "by bob until 2025-07-08 00:00 UTC"


def test_an_approval_of_another_plan_of_the_contract_is_refused(desk: Desk) -> None:
    desk.validate()
    desk.approve()
    other = replace(desk.approval, plan=replace(PLAN, code="fixed again"))
    staging = Staging(RUN, 1, "ab_r1_e1", STAGED, PART)
    with pytest.raises(AnabranchError) as error:
        other.require(desk.lease(), desk.line, staging, NOW)
    assert error.value.code == "approval.plan-changed"


def test_the_author_promotes_only_where_the_context_lets_authors(desk: Desk) -> None:
    desk.validate()
    desk.approve()
    assert desk.require(AUTHOR).approval.by == "bob"
    desk.settings = context(approval={"required": True, "authorMayPromote": False})
    assert desk.refused(AUTHOR) == "promote.by-author"
    assert desk.require("ops").approval.by == "bob"


def test_where_no_approval_is_required_the_author_promotes(desk: Desk) -> None:
    desk.settings = context(approval={"required": False, "authorMayPromote": False})
    desk.validate()
    assert desk.require(AUTHOR).approval == ApprovalNotRequired("prod")


def test_only_named_operators_promote(desk: Desk) -> None:
    desk.settings = context(roles={"operators": ["ops"]})
    desk.validate()
    desk.approve()
    assert desk.refused("eve") == "roles.not-operator"
    assert desk.require("ops").approval.by == "bob"
