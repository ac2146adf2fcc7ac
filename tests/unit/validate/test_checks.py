"""Each check says yes to what is right, and no to what is wrong, with what it expected and what it found."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.validate.evidence import ACCOUNTS, BUCKETS, COLUMNS, SLICES, contract, evidence, only, staged

from anabranch.plan.slices import Slice
from anabranch.replay.ledger import Account, SliceAccount
from anabranch.runs.heads import Head
from anabranch.validate.checks import (
    checksums,
    conservation,
    counts,
    keys,
    nulls,
    outside_range,
    quarantine,
    queries,
    schema,
    spot,
)
from anabranch.validate.measures import (
    Checksum,
    Column,
    Difference,
    Duplicates,
    Nulls,
    OutOfRangeFile,
    OutOfRangeFiles,
    Quarantined,
    QueryRun,
    Side,
    Spots,
)
from anabranch.validate.result import CheckOutcome

PASSED, WARNED, FAILED = CheckOutcome.PASSED, CheckOutcome.WARNED, CheckOutcome.FAILED


@pytest.mark.parametrize(
    ("rows", "tolerance", "outcome"),
    [(16, "0%", PASSED), (17, "0%", FAILED), (17, "6%", PASSED), (17, "5%", FAILED), (15, "7%", PASSED)],
)
def test_rows_expected(rows: int, tolerance: str, outcome: CheckOutcome) -> None:
    backfill = contract(expect={"rows": rows, "tolerance": tolerance})
    result, _ = counts.check(evidence(backfill=backfill))
    assert (result.check, result.outcome) == ("rows expected", outcome)
    assert result.found.startswith("16 rows")


def test_a_tolerance_is_exact_at_its_edge() -> None:
    backfill = contract(expect={"rows": 1000, "tolerance": "0.1%"})
    for rows, outcome in ((1001, PASSED), (999, PASSED), (1002, FAILED), (998, FAILED)):
        result, _ = counts.check(evidence(backfill=backfill, staged=Side(Head("2"), COLUMNS, {1: Checksum(rows)})))
        assert result.outcome is outcome, rows


def test_without_an_expectation_big_differences_are_shown_and_not_failed() -> None:
    assert only(counts.check, evidence()).outcome is PASSED
    assert only(counts.check, evidence(staged=staged(first=9))).outcome is PASSED
    result = only(counts.check, evidence(staged=staged(first=0)))
    assert result.outcome is WARNED
    assert result.found == "8 rows after, 16 before; 1 hour differs by more than 20%"
    assert result.sample == ({"hour": "2025-06-01T00:00:00.000000Z", "before": 8, "after": 0},)


def test_rows_where_there_were_none_are_shown() -> None:
    assert only(counts.check, evidence(base=Side(Head("1"), COLUMNS, {}))).outcome is WARNED


def test_checksums_tell_what_changed_and_judge_nothing() -> None:
    assert checksums.changed_buckets(Side(Head("1"), (), BUCKETS), Side(Head("2"), (), BUCKETS)) == ()
    result = only(checksums.check, evidence(staged=staged(first=8)))
    assert result.outcome is PASSED
    assert result.found.startswith("1 of 2 hours changed; digest 000000000000000b000000000000000b")


def test_a_bucket_that_is_gone_has_changed() -> None:
    [first, second] = BUCKETS
    assert checksums.changed_buckets(Side(Head("1"), (), BUCKETS), Side(Head("2"), (), {first: BUCKETS[first]})) == (
        second,
    )


def test_keys() -> None:
    assert keys.check(evidence()) == ()
    assert only(keys.check, evidence(duplicates=Duplicates(("a", "b")))).outcome is PASSED
    twice = only(keys.check, evidence(duplicates=Duplicates(("a",), count=2, sample=({"a": 1, "rows": 2},))))
    assert (twice.outcome, twice.found) == (FAILED, "2 duplicate keys")
    assert twice.sample == ({"a": 1, "rows": 2},)
    unknown = only(keys.check, evidence(duplicates=Duplicates(("a",), unknown=("a",))))
    assert (unknown.outcome, unknown.found) == (FAILED, "the table has no column a")


def test_nulls() -> None:
    assert nulls.check(evidence()) == ()
    assert only(nulls.check, evidence(nulls=Nulls({"a": 0}))).outcome is PASSED
    missing = only(nulls.check, evidence(nulls=Nulls({"a": 0, "b": 3}, ("c",), ({"b": None},))))
    assert missing.outcome is FAILED
    assert missing.found == "3 rows with null b; the table has no column c"
    assert missing.sample == ({"b": None},)


@pytest.mark.parametrize(
    "columns",
    [
        COLUMNS[::-1],
        COLUMNS[:1],
        (*COLUMNS, Column(3, "note", "string", False)),
        (COLUMNS[0], replace(COLUMNS[1], id=7)),
        (COLUMNS[0], replace(COLUMNS[1], type="decimal(18, 4)")),
        (replace(COLUMNS[0], required=False), COLUMNS[1]),
    ],
)
def test_other_columns_are_refused(columns: tuple[Column, ...]) -> None:
    same, _ = schema.check(evidence())
    assert same.outcome is PASSED
    result, _ = schema.check(evidence(staged=Side(Head("2"), columns, BUCKETS)))
    assert result.outcome is FAILED
    assert result.sample


def test_a_schema_that_moved_since_the_plan_is_refused() -> None:
    _, same = schema.check(evidence())
    assert same.outcome is PASSED
    _, moved = schema.check(evidence(schema="another", head=COLUMNS[:1]))
    assert moved.outcome is FAILED
    assert moved.sample == ({"position": 2, "base": "amount decimal(18, 2) (id 2)", "now": None},)


def test_known_records() -> None:
    assert spot.check(evidence()) == ()
    assert only(spot.check, evidence(spots=Spots("known.jsonl", expected=3))).outcome is PASSED
    assert only(spot.check, evidence(spots=Spots("known.jsonl"))).outcome is WARNED
    pair = Difference({"a": 1}, None)
    missed = only(spot.check, evidence(spots=Spots("known.jsonl", expected=3, missing=(pair,), missed=1)))
    assert (missed.outcome, missed.found, missed.pairs) == (FAILED, "2 of 3 records found", (pair,))
    broken = only(spot.check, evidence(spots=Spots("known.jsonl", expected=3, problems=("line 4 is …",))))
    assert (broken.outcome, broken.sample) == (FAILED, ({"problem": "line 4 is …"},))


def test_queries() -> None:
    assert queries.check(evidence()) == ()
    good, rows, wrong = queries.check(
        evidence(
            queries=(
                QueryRun("good", "SELECT"),
                QueryRun("rows", "SELECT", sample=({"a": 1},), more=True),
                QueryRun("wrong", "SELEC", error="no such word"),
            )
        )
    )
    assert (good.check, good.outcome) == ("query good", PASSED)
    assert (rows.outcome, rows.found, rows.sample) == (FAILED, "more than 1 row", ({"a": 1},))
    assert (wrong.outcome, wrong.found) == (FAILED, "no such word")


def test_conservation() -> None:
    offsets, rows = conservation.check(evidence())
    assert (offsets.outcome, rows.outcome) == (PASSED, PASSED)
    assert offsets.expected == "2 slices, each once; 20 offsets, none lost"


def test_a_slice_that_is_missing_twice_or_strange_is_not_conserved() -> None:
    strange = SliceAccount(Slice("s00007", {0: (20, 30)}), {0: Account(10, output=10, rows=10)})
    for accounts in (ACCOUNTS[:1], (*ACCOUNTS, ACCOUNTS[0]), (*ACCOUNTS, strange)):
        offsets, rows = conservation.check(evidence(accounts))
        assert (offsets.outcome, rows.outcome) == (FAILED, FAILED)
        assert offsets.sample


def test_offsets_lost_to_retention_are_not_accepted_though_the_sums_agree() -> None:
    lost = SliceAccount(SLICES[0], {0: Account(10, output=8, lost=2, rows=8)})
    offsets, _ = conservation.check(evidence((lost, ACCOUNTS[1])))
    assert offsets.outcome is FAILED
    assert offsets.found == "20 offsets accounted for; 2 offsets lost to retention"
    assert offsets.sample == ()


def test_rows_in_staging_that_the_ledger_does_not_know() -> None:
    _, rows = conservation.check(evidence(staged=staged(first=9)))
    assert (rows.outcome, rows.expected, rows.found) == (FAILED, "16 rows by the ledger", "17 rows in staging")


def test_outside_the_range() -> None:
    assert only(outside_range.check, evidence()).outcome is PASSED
    strays = OutOfRangeFiles(21, (OutOfRangeFile("a.parquet", True, 3), OutOfRangeFile("b.parquet", False, 4)))
    result = only(outside_range.check, evidence(strays=strays))
    assert (result.outcome, result.found) == (FAILED, "21 files added or removed")
    assert [row["what"] for row in result.sample] == ["added", "removed"]


@pytest.mark.parametrize(
    ("aside", "there", "cap", "outcome"),
    [(0, 0, 5, PASSED), (2, 2, 5, WARNED), (2, 3, 5, WARNED), (0, 1, 5, WARNED), (2, 1, 5, FAILED), (6, 6, 5, FAILED)],
)
def test_quarantine(aside: int, there: int, cap: int, outcome: CheckOutcome) -> None:
    accounts = [SliceAccount(SLICES[0], {0: Account(10, output=10 - aside, quarantined=aside, rows=10 - aside)})]
    result = only(quarantine.check, evidence(accounts, cap=cap, quarantined=Quarantined(there)))
    assert result.outcome is outcome
