"""Approvals, folded from a real audit chain: which counts, and why another does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.gates.approval.approval import (
    GIVEN,
    REVOKED,
    TAKEN_OUT,
    AcceptedStaging,
    Approval,
    ApprovalContext,
    ApprovalFlaw,
    ApprovalStatus,
    approval_status,
    given,
    read_approvals,
)
from anabranch.gates.approval.refusals import _KINDS, ApprovalError, ApprovalMissingError, explain, require_approval
from anabranch.runs.audit import AuditRecord
from anabranch.runs.heads import Head
from anabranch.runs.ranges import TargetRange
from anabranch.runs.run import NewRun, Run

NOW = datetime(2025, 7, 1, tzinfo=timezone.utc)
UNTIL = NOW + timedelta(days=7)
STAGED = AcceptedStaging(Head("41"), "2 rows, 00ff")
PRESENT = ApprovalContext("ann", "p1", ("bob", "ann"), frozenset({Head("41"), Head("42")}))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlRunStore]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened


def say(
    store: SqlRunStore, by: str, *, plan: str = "p1", contract: str = "c1", judged: AcceptedStaging | None = STAGED
) -> None:
    store.writer.record_act(GIVEN, actor=by, details=given(plan, contract, judged, "looks right", UNTIL))


def take_back(store: SqlRunStore, by: str, plan: str = "p1") -> None:
    store.writer.record_act(REVOKED, actor=by, details={"plan": plan, "contract": "c1", "reason": "wrong month"})


def fold(store: SqlRunStore) -> tuple[Approval, ...]:
    return read_approvals(store.reader.audit(), "c1", "p1")


def flaw(store: SqlRunStore, present: ApprovalContext = PRESENT, now: datetime = NOW) -> ApprovalFlaw | None:
    standing = approval_status(fold(store), present, now)
    assert standing.approval is not None
    return standing.flaw


def test_an_approval_reads_back_as_it_was_given(store: SqlRunStore) -> None:
    say(store, "bob")
    [approval] = fold(store)
    assert (approval.by, approval.plan, approval.contract, approval.judged) == ("bob", "p1", "c1", STAGED)
    assert (approval.reason, approval.good_until, approval.end) == ("looks right", UNTIL, None)
    assert approval_status([approval], PRESENT, NOW) == ApprovalStatus(approval)
    assert store.reader.verify_audit().intact


def test_nobody_has_said_anything(store: SqlRunStore) -> None:
    say(store, "bob", contract="of another backfill")
    assert approval_status(fold(store), PRESENT, NOW) == ApprovalStatus()


@pytest.mark.parametrize(
    ("present", "now", "expected"),
    [
        (replace(PRESENT, plan="p2"), NOW, ApprovalFlaw.PLAN_CHANGED),
        (replace(PRESENT, author="bob"), NOW, ApprovalFlaw.BY_AUTHOR),
        (replace(PRESENT, approvers=("carol",)), NOW, ApprovalFlaw.NOT_APPROVER),
        (replace(PRESENT, grown_from=frozenset({Head("43")})), NOW, ApprovalFlaw.STAGING_CHANGED),
        (PRESENT, UNTIL, ApprovalFlaw.EXPIRED),
        (PRESENT, UNTIL - timedelta(microseconds=1), None),
        (replace(PRESENT, approvers=()), NOW, None),
        (replace(PRESENT, grown_from=None), NOW, None),
    ],
)
def test_what_voids_an_approval(
    store: SqlRunStore, present: ApprovalContext, now: datetime, expected: ApprovalFlaw | None
) -> None:
    say(store, "bob")
    assert flaw(store, present, now) is expected


def test_an_approval_from_before_anything_was_staged_covers_what_the_plan_leads_to(store: SqlRunStore) -> None:
    say(store, "bob", judged=None)
    assert flaw(store, replace(PRESENT, grown_from=frozenset({Head("99")}))) is None


def test_a_revocation_ends_what_came_before_it_of_the_same_plan_and_nothing_else(store: SqlRunStore) -> None:
    say(store, "bob")
    take_back(store, "carol", plan="p2")
    assert flaw(store) is None
    take_back(store, "carol")
    assert flaw(store) is ApprovalFlaw.REVOKED
    say(store, "bob")
    assert flaw(store) is None
    first, second = fold(store)
    assert first.end is not None
    assert (first.end.by, first.end.reason, second.end) == ("carol", "wrong month", None)


def test_an_older_approval_that_counts_goes_before_a_newer_one_that_does_not(store: SqlRunStore) -> None:
    say(store, "bob")
    say(store, "ann")
    standing = approval_status(fold(store), PRESENT, NOW)
    assert standing.approval is not None
    assert (standing.approval.by, standing.holds) == ("bob", True)


def test_a_rollback_uses_the_approval_up(store: SqlRunStore) -> None:
    say(store, "bob")
    before = store.reader.audit()
    rolled_back = AuditRecord(9, before[-1].at, "ops", "r1", TAKEN_OUT, None, None, 1, "{}", "", "")
    [approval] = read_approvals([*before, rolled_back], "c1", "p1")
    assert approval_status([approval], PRESENT, NOW).flaw is ApprovalFlaw.ROLLED_BACK


def test_every_reason_is_an_error_of_its_own_that_names_who_may_help(store: SqlRunStore) -> None:
    run = submitted(store)
    say(store, "bob")
    take_back(store, "carol")
    [approval] = fold(store)
    with pytest.raises(ApprovalMissingError, match=f"Run {run.id} has no approval"):
        require_approval(ApprovalStatus(), run)
    codes = set()
    for each in ApprovalFlaw:
        with pytest.raises(ApprovalError) as refused:
            require_approval(ApprovalStatus(approval, each), run)
        assert explain(approval, each) in refused.value.what
        assert "a person other than its author ann" in refused.value.remedy
        codes.add(refused.value.code)
    assert len(codes) == len(ApprovalFlaw) == len(_KINDS)
    assert require_approval(ApprovalStatus(approval), run) is approval


def submitted(store: SqlRunStore) -> Run:
    new = NewRun("r1", "orders", TargetRange("shop.orders", None, None), "c1", "p1", "ann", {}, {})
    return store.writer.submit(new, actor="ann").run
