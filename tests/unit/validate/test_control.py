"""A control in a validation: what is charged to whom, which thresholds it moves, and where people see it."""

from __future__ import annotations

import io
import json
from dataclasses import replace

from rich.console import Console
from tests.unit.validate.evidence import ACCOUNTS, BUCKETS, COLUMNS, FIRST, evidence, only, report, staged

from anabranch.cli.render_report import print_report
from anabranch.pages.validation import render_page
from anabranch.runs.heads import Head
from anabranch.validate.attribution import Attribution, DiffAttribution
from anabranch.validate.checks import control, counts
from anabranch.validate.measures import Checksum, Difference, Side
from anabranch.validate.report import Verdict
from anabranch.validate.result import CheckOutcome, Result

CHARGES = DiffAttribution(
    Side(Head("3"), COLUMNS, BUCKETS),
    ACCOUNTS,
    True,
    {FIRST: Attribution(fix=5, noise=2, both=1), FIRST + 1: Attribution(noise=1)},
    (Difference({"order_id": "o1", "amount": "1"}, {"order_id": "o1", "amount": "2"}),),
    (Difference(None, {"order_id": "<b>o2</b>", "amount": "3"}),),
)


def by_name(charges: DiffAttribution | None = CHARGES) -> dict[str, Result]:
    return {result.check: result for result in control.check(evidence(charges=charges))}


def test_without_a_control_there_is_nothing_to_say() -> None:
    assert by_name(None) == {}
    document = report().document()
    assert "control" not in document
    assert "noise" not in document["buckets"][0]
    assert "noise floor" not in render_page(report())


def test_fix_and_noise_are_told_apart_and_neither_fails() -> None:
    found = by_name()
    assert {name: result.outcome for name, result in found.items()} == {
        "control replayed": CheckOutcome.PASSED,
        "changed by the fix": CheckOutcome.PASSED,
        "noise floor": CheckOutcome.WARNED,
    }
    assert found["changed by the fix"].found == "5 keys"
    assert found["noise floor"].found.startswith("3 keys")
    assert "also changes 1 of them" in found["noise floor"].found
    assert report(charges=CHARGES).verdict is Verdict.ACCEPTED


def test_no_fix_is_worth_a_look_and_no_noise_is_not() -> None:
    found = by_name(replace(CHARGES, buckets={}))
    assert found["changed by the fix"].outcome is CheckOutcome.WARNED
    assert found["noise floor"].outcome is CheckOutcome.PASSED
    assert by_name(replace(CHARGES, paired=False))["changed by the fix"].found == "5 rows"


def test_a_control_that_lacks_a_slice_fails() -> None:
    assert by_name(replace(CHARGES, accounts=ACCOUNTS[:1]))["control replayed"].outcome is CheckOutcome.FAILED
    assert (
        by_name(replace(CHARGES, accounts=(*ACCOUNTS, ACCOUNTS[0])))["control replayed"].outcome is CheckOutcome.FAILED
    )


def test_rows_that_production_had_lost_before_are_not_held_against_the_fix() -> None:
    lost = Side(Head("1"), COLUMNS, {FIRST: Checksum(2, 1, 1), FIRST + 1: Checksum(8, 2, 2)})
    assert only(counts.check, evidence(base=lost)).outcome is CheckOutcome.WARNED
    assert only(counts.check, evidence(base=lost, charges=CHARGES)).outcome is CheckOutcome.PASSED
    told = only(counts.check, evidence(staged=staged(first=2), charges=CHARGES))
    assert told.outcome is CheckOutcome.WARNED
    assert told.sample[0]["control"] == 8


def test_it_is_in_the_document_on_the_page_and_on_the_terminal() -> None:
    made = replace(report(charges=CHARGES), control="c" * 64)
    document = json.loads(json.dumps(made.document()))
    said = {"code": "c" * 64, "snapshot": "3", "rows": 16, "counted": "keys", "fix": 5, "noise": 3, "both": 1}
    assert document["control"] == said
    assert [(each["fix"], each["noise"]) for each in document["buckets"]] == [(5, 2), (0, 1)]
    pairs = next(each["pairs"] for each in document["results"] if each["check"] == "noise floor")
    assert pairs == [{"production": None, "control": {"order_id": "<b>o2</b>", "amount": "3"}}]

    page = render_page(made)
    assert "Fix and noise floor" in page
    assert page.count('class="fix"') == 1
    assert page.count('class="noise"') == 2
    assert "&lt;b&gt;o2" in page
    assert "<b>o2" not in page

    printed = io.StringIO()
    print_report(made, Console(file=printed, width=200))
    assert "5 changed by the fix, 3 of noise" in printed.getvalue()
