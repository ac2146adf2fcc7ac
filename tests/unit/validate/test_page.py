"""The page: whole, escaped, and asking nothing of any network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.fixtures.properties import effort
from tests.unit.validate.evidence import ACCOUNTS, FIRST, RANGE, SLICES, report, staged
from tests.unit.validate.evidence import COLUMNS as TABLE_COLUMNS

from anabranch.cli.render_report import print_report
from anabranch.pages.charts import COLUMNS, columns
from anabranch.pages.environment import environment
from anabranch.pages.validation import render_page
from anabranch.plan.target_range import Grain, TimeAxis, WholeTable, beginning
from anabranch.replay.ledger import Account, SliceAccount
from anabranch.runs.heads import Head
from anabranch.runs.printable import printable
from anabranch.validate.measures import (
    Checksum,
    Difference,
    Differences,
    Duplicates,
    OutOfRangeFiles,
    QueryRun,
    Side,
    Spots,
)
from anabranch.validate.report import Bucket, Report

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'; </style></title></svg><script src=//x>",
    "javascript:alert(1)",
    "&lt;b&gt;",
    "\x1b]0;title\x07\u202eevil\x00",
)


class Elements(HTMLParser):
    """Every element and attribute of a page, as a browser would find them; and whether they nest."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((name, dict(attributes)))
        if name not in ("meta", "br"):
            self.open.append(name)

    def handle_startendtag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((name, dict(attributes)))

    def handle_endtag(self, name: str) -> None:
        assert self.open.pop() == name

    def handle_data(self, text: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text += text

    def named(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for found, attributes in self.found if found == name]


def hostile_report(text: str) -> Report:
    """The text wherever data, names or messages can carry it."""
    row = {text: text, "list": [text], "null": None}
    found = report(
        run=text,
        differences=Differences(True, (FIRST,), (Difference(row, {**row, text: "other"}), Difference(None, row))),
        duplicates=Duplicates((text,), count=1, sample=(row,)),
        spots=Spots(text, expected=1, problems=(text,), missing=(Difference(row, None),), missed=1),
        queries=(QueryRun(text, text, error=text), QueryRun("rows", text, sample=(row,))),
        staged=staged(first=9),
    )
    return replace(found, table=text, pipeline=text, plan=text)


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_the_data_becomes_markup(text: str) -> None:
    good = Elements(render_page(hostile_report("harmless")))
    page = render_page(hostile_report(text))
    bad = Elements(page)
    assert bad.open == []
    assert bad.found == good.found, "the same elements with the same attributes, whatever the text"
    assert printable(text) in bad.text
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", page)


@effort(100, 5_000)
@given(st.text(min_size=1))
def test_any_text_comes_out_as_it_is(text: str) -> None:
    page = Elements(environment().from_string('<p title="{{ text }}">{{ text }}</p>').render(text=text))
    assert page.found == [("p", {"title": printable(text)})]
    assert page.text == printable(text)


def test_the_page_loads_nothing_and_runs_only_its_own_script() -> None:
    page = render_page(report())
    elements = Elements(page)
    assert {name for name, _ in elements.found} & {"link", "img", "iframe", "object", "base", "form"} == set()
    assert not any({"src", "href", "onclick", "action"} & attributes.keys() for _, attributes in elements.found)
    assert "http:" not in page
    assert "https:" not in page
    assert "url(" not in page
    [policy] = [each["content"] for each in elements.named("meta") if each.get("http-equiv")]
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")
    assert len(elements.named("script")) == 1


def test_the_page_says_the_verdict_and_every_check() -> None:
    good, bad = Elements(render_page(report())), Elements(render_page(report(strays=OutOfRangeFiles(1))))
    assert "Accepted: all 8 checks passed" in good.text
    assert "anabranch promote r1" in good.text
    assert "Rejected: 1 of 8 checks failed" in bad.text
    assert "anabranch promote" not in bad.text
    for result, page in product(report().results, (good, bad)):
        assert result.check in page.text


def test_charts_are_told_in_words_too() -> None:
    elements = Elements(render_page(report(staged=staged(first=9))))
    charts = [each for each in elements.named("svg") if each.get("role") == "img"]
    assert len(charts) == 3
    identified = {attributes.get("id") for _, attributes in elements.found}
    for chart in charts:
        assert set((chart["aria-labelledby"] or "").split()) <= identified
    assert "from +0 to +1" in elements.text
    assert "16 rows before, 17 after" in elements.text


@pytest.mark.parametrize("buckets", [0, 1, 2, 60, 61, 400, 2500])
def test_any_number_of_buckets_is_drawn(buckets: int) -> None:
    side = Side(Head("1"), TABLE_COLUMNS, {FIRST + i: Checksum(i % 7 + 1, i, i) for i in range(buckets)})
    page = Elements(render_page(report(base=side, staged=side)))
    assert page.open == []
    assert ("The range has no rows" in page.text) == (buckets == 0)
    assert ("Each column stands for several hours" in page.text) == (buckets > COLUMNS)


def buckets_at(*numbers: int) -> Iterator[Bucket]:
    return (Bucket(beginning(Grain.HOUR, n), Checksum(1, 1, 1), Checksum(2, 2, 2)) for n in numbers)


def test_a_hole_is_drawn_as_one() -> None:
    drawn = columns(tuple(buckets_at(FIRST, FIRST + 3)), RANGE.axis.grain)
    assert [bucket.base.rows for bucket in drawn] == [1, 0, 0, 1]


def test_one_row_of_the_far_future_does_not_squeeze_the_rest() -> None:
    assert len(columns(tuple(buckets_at(FIRST, FIRST + 1, FIRST + 50_000_000)), RANGE.axis.grain)) == 3


def test_merged_columns_keep_every_row() -> None:
    drawn = columns(tuple(buckets_at(*range(FIRST, FIRST + 2500))), RANGE.axis.grain)
    assert len(drawn) <= COLUMNS
    assert sum(bucket.base.rows for bucket in drawn) == 2500


def test_every_fate_is_in_the_ledgers_bar_and_table() -> None:
    account = Account(1_000_000, 999_994, 1, 1, 1, 1, 1, 1, rows=999_994)
    page = Elements(render_page(report([SliceAccount(SLICES[0], {0: account})])))
    [bar] = [index for index, (name, a) in enumerate(page.found) if name == "svg" and a.get("class") == "ledger"]
    widths = [float(a["width"] or 0) for name, a in page.found[bar:] if name == "rect"]
    assert len(widths) == 7
    assert min(widths) > 5, "one in a million can still be seen"
    assert sum(widths) == pytest.approx(1000, abs=0.1)
    assert "1,000,000 offsets replayed, and the sums agree" in page.text


def test_sums_that_do_not_agree_are_said_so() -> None:
    wrong = SliceAccount(SLICES[0], {0: Account(10, output=9, rows=9)})
    assert "but the sums do not agree" in Elements(render_page(report([wrong, ACCOUNTS[1]]))).text


@pytest.mark.parametrize("text", HOSTILE)
def test_the_terminal_is_told_the_same_and_steered_by_nothing(text: str) -> None:
    console = Console(record=True, width=200, force_terminal=True, no_color=True, color_system=None)
    with console.capture() as told:
        print_report(hostile_report(f"[bold]{text}[/bold]"), console)
    said = told.get()
    assert "Rejected: 5 of 12 checks failed." in said
    assert "[bold]" in said
    assert "\x1b" not in said
    assert "\u202e" not in said


@pytest.mark.parametrize("axis", [RANGE.axis, None])
def test_a_whole_table_has_no_ends_to_show(axis: TimeAxis | None) -> None:
    whole = replace(report(), range=WholeTable(axis))
    page = render_page(whole)
    assert "the whole table" in page
    assert ("Rows per" in page) == (axis is not None)
    console = Console(record=True, width=200)
    print_report(whole, console)
    assert "whole table" in console.export_text()
