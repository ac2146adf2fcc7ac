"""Approvals, folded from a real audit chain: which counts, and why another does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.gates.approval import (
    GIVEN,
    REVOKED,
    TAKEN_OUT,
    Approval,
    Flaw,
    Judged,
    Present,
    Standing,
    given,
    judge,
    read_approvals,
)
from anabranch.gates.approval_refusals import _KINDS, ApprovalError, ApprovalMissingError, explain, require_approval
from anabranch.runs.audit import AuditRecord
from anabranch.runs.ranges import TargetRange
from anabranch.runs.run import NewRun, Run

NOW = datetime(2025, 7, 1, tzinfo=timezone.utc)
UNTIL = NOW + timedelta(days=7)
STAGED = Judged(41, "2 rows, 00ff")
PRESENT = Present("ann", "p1", ("bob", "ann"), frozenset({41, 42}))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlRunStore]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened


def say(store: SqlRunStore, by: str, *, plan: str = "p1", contract: str = "c1", judged: Judged | None = STAGED) -> None:
    store.writer.record_act(GIVEN, actor=by, details=given(plan, contract, judged, "looks right", UNTIL))


def take_back(store: SqlRunStore, by: str, plan: str = "p1") -> None:
    store.writer.record_act(REVOKED, actor=by, details={"plan": plan, "contract": "c1", "reason": "wrong month"})


def fold(store: SqlRunStore) -> tuple[Approval, ...]:
    return read_approvals(store.reader.audit(), "c1", "p1")


def flaw(store: SqlRunStore, present: Present = PRESENT, now: datetime = NOW) -> Flaw | None:
    standing = judge(fold(store), present, now)
    assert standing.approval is not None
    return standing.flaw


def test_an_approval_reads_back_as_it_was_given(store: SqlRunStore) -> None:
    say(store, "bob")
    [approval] = fold(store)
    assert (approval.by, approval.plan, approval.contract, approval.judged) == ("bob", "p1", "c1", STAGED)
    assert (approval.reason, approval.good_until, approval.end) == ("looks right", UNTIL, None)
    assert judge([approval], PRESENT, NOW) == Standing(approval)
    assert store.reader.verify_audit().intact


def test_nobody_has_said_anything(store: SqlRunStore) -> None:
    say(store, "bob", contract="of another backfill")
    assert judge(fold(store), PRESENT, NOW) == Standing()


@pytest.mark.parametrize(
    ("present", "now", "expected"),
    [
        (replace(PRESENT, plan="p2"), NOW, Flaw.PLAN_CHANGED),
        (replace(PRESENT, author="bob"), NOW, Flaw.BY_AUTHOR),
        (replace(PRESENT, approvers=("carol",)), NOW, Flaw.NOT_APPROVER),
        (replace(PRESENT, grown_from=frozenset({43})), NOW, Flaw.STAGING_CHANGED),
        (PRESENT, UNTIL, Flaw.EXPIRED),
        (PRESENT, UNTIL - timedelta(microseconds=1), None),
        (replace(PRESENT, approvers=()), NOW, None),
        (replace(PRESENT, grown_from=None), NOW, None),
    ],
)
def test_what_voids_an_approval(store: SqlRunStore, present: Present, now: datetime, expected: Flaw | None) -> None:
    say(store, "bob")
    assert flaw(store, present, now) is expected


def test_an_approval_from_before_anything_was_staged_covers_what_the_plan_leads_to(store: SqlRunStore) -> None:
    say(store, "bob", judged=None)
    assert flaw(store, replace(PRESENT, grown_from=frozenset({99}))) is None


def test_a_revocation_ends_what_came_before_it_of_the_same_plan_and_nothing_else(store: SqlRunStore) -> None:
    say(store, "bob")
    take_back(store, "carol", plan="p2")
    assert flaw(store) is None
    take_back(store, "carol")
    assert flaw(store) is Flaw.REVOKED
    say(store, "bob")
    assert flaw(store) is None
    first, second = fold(store)
    assert first.end is not None
    assert (first.end.by, first.end.reason, second.end) == ("carol", "wrong month", None)


def test_an_older_approval_that_counts_goes_before_a_newer_one_that_does_not(store: SqlRunStore) -> None:
    say(store, "bob")
    say(store, "ann")
    standing = judge(fold(store), PRESENT, NOW)
    assert standing.approval is not None
    assert (standing.approval.by, standing.holds) == ("bob", True)


def test_a_rollback_uses_the_approval_up(store: SqlRunStore) -> None:
    say(store, "bob")
    before = store.reader.audit()
    rolled_back = AuditRecord(9, before[-1].at, "ops", "r1", TAKEN_OUT, None, None, 1, "{}", "", "")
    [approval] = read_approvals([*before, rolled_back], "c1", "p1")
    assert judge([approval], PRESENT, NOW).flaw is Flaw.ROLLED_BACK


def test_every_reason_is_an_error_of_its_own_that_names_who_may_help(store: SqlRunStore) -> None:
    run = submitted(store)
    say(store, "bob")
    take_back(store, "carol")
    [approval] = fold(store)
    with pytest.raises(ApprovalMissingError, match=f"Nobody has approved run {run.id}"):
        require_approval(Standing(), run)
    codes = set()
    for each in Flaw:
        with pytest.raises(ApprovalError) as refused:
            require_approval(Standing(approval, each), run)
        assert explain(approval, each) in refused.value.what
        assert "somebody other than its author ann" in refused.value.next_step
        codes.add(refused.value.code)
    assert len(codes) == len(Flaw) == len(_KINDS)
    assert require_approval(Standing(approval), run) is approval


def submitted(store: SqlRunStore) -> Run:
    new = NewRun("r1", "orders", TargetRange("shop.orders", None, None), "c1", "p1", "ann", {}, {})
    return store.writer.submit(new, actor="ann").run
