"""A backfill where somebody else has to agree: every way round it is refused, and production stays as it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from anabranch.app.approval import subject_of_run
from anabranch.app.backfill import BackfillRun
from anabranch.gates.approval.approval import Approval
from anabranch.gates.approval.requests import ApprovalSubject, approve, revoke
from anabranch.runs.heads import Head
from anabranch.runs.states import State
from anabranch.validate.report import Verdict
from tests.conformance.classes.dying import dying_at
from tests.scenarios.backfills import NOW, Onlooker
from tests.scenarios.shop import TABLE, Shop, hours, refusal
from tests.scenarios.test_catch_up import late

pytestmark = pytest.mark.long

ROLES = """approval: {lifetime: 2d, authorMayPromote: false}
      roles: {approvers: [bob, ann], operators: [ops, ann], rollback: [lead]}
      gates: {enforce: false}"""


@dataclass(frozen=True)
class Team:
    """People who act on one run, each under his own name."""

    shop: Shop
    run: BackfillRun
    monkeypatch: pytest.MonkeyPatch

    def act(self, who: str) -> BackfillRun:
        self.monkeypatch.setenv("ANABRANCH_ACTOR", who)
        return self.shop.again(self.run.run_id)

    @property
    def state(self) -> str:
        return self.run.run.state.value

    def approve(self, who: str, subject: ApprovalSubject | None = None) -> Approval:
        settings = self.shop.project_context.loaded.settings
        what = subject or subject_of_run(self.run)
        return approve(self.shop.store, settings, what, who=who, reason=None, now=NOW)

    def promoted_by(self, who: str, now: datetime = NOW) -> Head:
        run = self.act(who)
        with run.lease() as lease:
            return run.promote(lease, Onlooker(), now)

    def refused(self, who: str, now: datetime = NOW) -> str:
        """The code of the error that a promotion ends with, which has changed nothing."""
        error = refusal(lambda *_: self.promoted_by(who, now), self.run, Onlooker())
        self.shop.require(self.shop.former())
        assert self.run.run.state in (State.VALIDATED, State.ROLLED_BACK)
        assert "Production unchanged" in error.state
        return error.code


@pytest.fixture
def team(new_shop: Callable[..., Shop], monkeypatch: pytest.MonkeyPatch) -> Team:
    """A run of ann's, replayed and validated."""
    shop = new_shop(approval=ROLES)
    shop.produce(hours(each=8))
    shop.live()
    run = shop.plan(slices=1)
    assert shop.apply(run).verdict is Verdict.ACCEPTED
    return Team(shop, run, monkeypatch)


def tamper(shop: Shop, branch: str) -> None:
    """One staged amount is another, and all else as before: no count, key or null would tell."""
    table = shop.table()
    rows = table.scan(row_filter="order_id = 'o18'").use_ref(branch).to_arrow()
    [row] = rows.to_pylist()
    changed = rows.from_pylist([{**row, "amount_eur": Decimal("0.01")}], schema=rows.schema)
    table.overwrite(changed, overwrite_filter="order_id = 'o18'", branch=branch)


def test_every_way_round_an_approval_is_refused_and_the_right_way_works(team: Team) -> None:
    shop, run, plan = team.shop, team.run, team.run.plan
    assert team.refused("ops") == "approval.missing"
    other = shop.planned(slices=2).plan
    team.approve("bob", ApprovalSubject(other.hash, other.contract))
    assert team.refused("ops") == "approval.plan-changed"
    team.approve("ann", ApprovalSubject(plan.hash, plan.contract))
    assert team.refused("ops") == "approval.by-author"

    approval = team.approve("bob")
    assert approval.judged is not None
    assert team.refused("ops", NOW + timedelta(days=2)) == "approval.expired"
    assert team.refused("eve") == "roles.not-operator"
    assert team.refused("ann") == "promote.by-author"
    revoke(shop.store, subject_of_run(run), who="eve", reason="not before the weekend")
    assert team.refused("ops") == "approval.revoked"

    team.approve("bob")
    [place] = run.target.stagings(run.run_id)
    branch, head = place.name, place.head
    tamper(shop, branch)
    assert team.refused("ops") == "approval.staging-changed"
    with team.act("ops").lease() as lease:
        assert team.act("ops").validate(lease, NOW).accepted, "no check sees it"
    assert team.refused("ops") == "approval.staging-changed"

    [branch] = (each.name for each in run.target.stagings(run.run_id))
    name = f"{shop.project_context.catalog.name}.{TABLE}"
    shop.spark.session.sql(f"ALTER TABLE {name} CREATE OR REPLACE BRANCH `{branch}` AS OF VERSION {head}")
    with team.act("ops").lease() as lease:
        team.act("ops").validate(lease, NOW)
    shop.produce(late(9000))
    shop.live()
    team.promoted_by("ops")
    shop.require(shop.corrected())
    [promoted] = [each for each in shop.store.reader.audit(run_id=run.run_id) if each.action == "run.promote"]
    assert '"approved_by":"bob"' in promoted.details

    rolled_back(team)
    assert team.refused("ops") == "approval.rolled-back"
    team.approve("bob")
    with dying_at(team.monkeypatch, "promote.commit.after"):
        team.promoted_by("ops")
    assert team.state == "promoting"
    # Who agreed is asked before the commit. What became of it is told to anybody, at any time.
    team.promoted_by("ops", NOW + timedelta(days=30))
    assert team.state == "promoted"
    shop.require(shop.corrected())
    with team.act("ops").lease() as lease:
        record: Any = team.act("ops").close(lease, NOW, forfeit="checked by the readers")
    approvals = record["approvals"]
    assert [each["by"] for each in approvals] == ["bob", "ann", "bob", "bob", "bob"]
    assert [each["ended"] and each["ended"]["how"] for each in approvals[2:]] == ["revoked", "rolled back", None]
    forfeited = record["rollback"]["forfeited"]
    assert (forfeited["by"], forfeited["reason"]) == ("ops", "checked by the readers")
    [override] = record["rollback_overrides"]
    assert (override["by"], override["reason"]) == ("ops", "readers complain")


def rolled_back(team: Team) -> None:
    """Not by whom nobody has named, unless it can't wait; then with the reason on record."""
    run = team.act("ops")

    def roll_back(*_: object) -> None:
        with run.lease() as lease:
            run.roll_back(lease)

    error = refusal(roll_back, run, Onlooker())
    assert error.code == "rollback.not-authority"
    assert "lead or oncall may roll back" in error.what
    team.shop.require(team.shop.corrected())
    with run.lease() as lease:
        run.roll_back(lease, "readers complain")
    team.shop.require(team.shop.former())
