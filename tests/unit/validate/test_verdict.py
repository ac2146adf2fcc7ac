"""From measures to a verdict: every check is made, and the report adds up what was measured."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.validate.evidence import (
    ACCOUNTS,
    BUCKETS,
    COLUMNS,
    FIRST,
    MEASURES,
    PLAN,
    RANGE,
    SLICES,
    START,
    contract,
    pipeline,
    report,
    staged,
)

from anabranch.plan.target_range import TimeAxis, WholeTable
from anabranch.replay.ledger import Account, SliceAccount
from anabranch.runs.heads import Head
from anabranch.validate.accepted import (
    AcceptedRun,
    RejectedRun,
    ValidationRejectedError,
    ValidationResult,
    require_accepted,
)
from anabranch.validate.attribution import Attribution, DiffAttribution
from anabranch.validate.measures import Checksum, Measures, Nulls, OutOfRangeFiles, Side
from anabranch.validate.report import Report, Verdict
from anabranch.validate.result import CheckOutcome
from anabranch.validate.verdict import CHECKS, reach_verdict

DOUBLED = SliceAccount(SLICES[0], {0: Account(11, output=8, filtered=2, rows=8)})


def verdict_of(measures: Measures, *, whole: TimeAxis | bool | None = False) -> Report:
    """With `whole`, of a plan for all of the table, with that time axis or none."""
    plan = PLAN
    if not isinstance(whole, bool):
        plan = replace(PLAN, target=replace(PLAN.target, partitions=WholeTable(whole)))
    return reach_verdict(measures, plan, contract(), pipeline(), ACCOUNTS, run="r1", at=START)


def test_a_replay_in_which_nothing_went_wrong_is_accepted() -> None:
    found = report()
    assert found.verdict is Verdict.ACCEPTED
    assert found.failed == ()
    accepted = require_accepted("r1", ValidationResult.of(PLAN, found))
    assert accepted == AcceptedRun(PLAN, MEASURES.staged.snapshot), "of the snapshot that was measured"
    assert (found.run, found.plan, found.table) == ("r1", PLAN.hash, "shop.orders")
    assert (found.base, found.staging, found.range) == (MEASURES.base.snapshot, MEASURES.staged.snapshot, RANGE)


def test_one_failed_check_rejects_and_the_others_are_made_all_the_same() -> None:
    good, bad = report(), report([DOUBLED, ACCOUNTS[1]])
    assert bad.verdict is Verdict.REJECTED
    assert [each.check for each in bad.failed] == ["conservation"]
    assert [each.check for each in bad.results] == [each.check for each in good.results]
    assert isinstance(ValidationResult.of(PLAN, bad).judged, RejectedRun)
    with pytest.raises(ValidationRejectedError) as rejected:
        require_accepted("r1", ValidationResult.of(PLAN, bad))
    assert rejected.value.fields["failed"] == ["conservation"]
    assert rejected.value.fields["staging"] == MEASURES.staged.snapshot


def test_several_faults_are_told_at_once() -> None:
    one = {each.check for each in report([DOUBLED, ACCOUNTS[1]]).failed}
    other = {each.check for each in report(schema="another").failed}
    both = {each.check for each in report([DOUBLED, ACCOUNTS[1]], schema="another").failed}
    assert both == one | other
    assert one
    assert other
    assert one.isdisjoint(other)


@pytest.mark.parametrize("spoilt", [{"schema": "another"}, {"strays": OutOfRangeFiles(count=1)}])
def test_each_fault_rejects_by_itself(spoilt: dict[str, object]) -> None:
    assert verdict_of(replace(MEASURES, **spoilt)).verdict is Verdict.REJECTED  # type: ignore[arg-type]


def test_a_warning_alone_does_not_reject() -> None:
    results = tuple(replace(each, outcome=CheckOutcome.WARNED) for each in report().results)
    warned = replace(report(), results=results)
    assert (warned.verdict, warned.failed, warned.warned) == (Verdict.ACCEPTED, (), results)
    assert replace(warned, results=(*results, replace(results[0], outcome=CheckOutcome.FAILED))).failed


def test_every_check_has_a_name_of_its_own_and_none_is_listed_twice() -> None:
    names = [each.check for each in report().results]
    assert len(set(names)) == len(names)
    assert len(set(CHECKS)) == len(CHECKS)


def test_the_ledger_is_the_sum_of_all_slices_and_by_partition() -> None:
    accounts = [
        SliceAccount(SLICES[0], {0: Account(10, output=8, filtered=2, rows=8), 1: Account(3, output=3, rows=4)}),
        SliceAccount(SLICES[1], {0: Account(10, output=8, filtered=2, rows=8)}),
    ]
    found = report(accounts)
    assert found.partitions == {
        0: Account(20, output=16, filtered=4, rows=16),
        1: Account(3, output=3, rows=4),
    }
    assert found.ledger == Account(23, output=19, filtered=4, rows=20)
    assert report([]).ledger == Account()


def test_rows_before_and_after_are_of_the_two_sides() -> None:
    found = report(staged=staged(first=5))
    assert (found.rows_before, found.digest.rows) == (16, 13)
    assert found.digest == staged(first=5).total


def test_buckets_are_those_with_rows_on_either_side_in_order() -> None:
    before = Side(Head("1"), COLUMNS, {FIRST + 17: Checksum(2, 1, 1), FIRST: Checksum(8, 1, 1)})
    after = Side(Head("2"), COLUMNS, {FIRST: Checksum(8, 1, 1), FIRST + 15: Checksum(3, 3, 3)})
    found = report(base=before, staged=after)
    assert [(each.start, each.base.rows, each.staged.rows, each.changed) for each in found.buckets] == [
        (START, 8, 8, False),
        (START.replace(hour=15), 0, 3, True),
        (START.replace(hour=17), 2, 0, True),
    ]
    assert [each.difference for each in found.buckets] == [0, 3, -2]


def test_the_same_number_of_other_rows_is_a_change() -> None:
    after = Side(Head("2"), COLUMNS, {**BUCKETS, FIRST: Checksum(BUCKETS[FIRST].rows, 7, 7)})
    assert [each.changed for each in report(staged=after).buckets] == [True, False]


def test_without_a_control_nothing_is_charged_to_anybody() -> None:
    assert {each.charge for each in report().buckets} == {None}
    assert "control" not in report().document()


def test_with_a_control_every_bucket_says_what_its_differences_are_charged_to() -> None:
    charges = DiffAttribution(
        MEASURES.base, ACCOUNTS, True, {FIRST: Attribution(fix=3), FIRST + 5: Attribution(noise=1)}
    )
    found = verdict_of(replace(MEASURES, charges=charges))
    charged = {each.start.hour: each.charge for each in found.buckets}
    assert charged == {0: Attribution(fix=3), 1: Attribution(), 5: Attribution(noise=1)}
    assert found.document()["control"]["fix"] == 3


def test_a_table_with_no_time_has_no_buckets() -> None:
    found = verdict_of(MEASURES, whole=None)
    assert (found.buckets, found.bucket) == ((), "table")
    assert found.rows_before == 16, "and is counted all the same"
    assert verdict_of(MEASURES, whole=RANGE.axis).buckets == report().buckets


def test_the_document_says_what_the_report_says() -> None:
    document = report([DOUBLED, ACCOUNTS[1]], nulls=Nulls({"amount": 2})).document()
    assert document["verdict"] == "rejected"
    assert document["rows"] == {"before": 16, "after": 16}
    assert document["partitions"]["0"]["offsets"] == document["ledger"]["offsets"] == 21
    assert {each["check"] for each in document["results"] if each["outcome"] == "failed"} >= {"conservation"}
