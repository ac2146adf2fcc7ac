"""The steps that `plan` prints are the steps that the commands execute: the journal of a run equals the list."""

from __future__ import annotations

import pytest

from anabranch.app.backfill import BackfillRun
from anabranch.plan.steps import LeaseRange, document_of, steps_of
from anabranch.runs.journal import Outcome
from anabranch.runs.states import ACTIVE
from anabranch.validate.report import Verdict
from tests.scenarios.shop import Shop

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


def printed(run: BackfillRun) -> list[tuple[object, object]]:
    """The plan's steps after the submission, whose record is the run itself."""
    lease, *steps = steps_of(run.plan)
    assert isinstance(lease, LeaseRange)
    return [(each["step"], each.get("slice")) for each in map(document_of, steps)]


def journalled(run: BackfillRun) -> list[tuple[object, object]]:
    journal = run.store.reader.journal(run.run_id)
    assert {entry.outcome for entry in journal} == {Outcome.SUCCEEDED}
    return [(entry.step, entry.details.get("slice")) for entry in journal]


def test_the_journal_of_a_run_equals_the_steps_that_its_plan_prints(shop: Shop) -> None:
    run = shop.plan(slices=2)
    assert run.run.state in ACTIVE, "the range is held from the submission on"
    assert shop.apply(run).verdict is Verdict.ACCEPTED
    with run.lease() as lease:
        run.rehearse_rollback(lease)
    shop.promote(run)
    shop.close(run)
    assert journalled(run) == printed(run)
