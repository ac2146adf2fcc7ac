"""The page's tables: checks with their samples, buckets, the ledger, and rows before and after."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from anabranch.pages.charts import ledger_bar
from anabranch.pages.html import Html, join, moment, tag
from anabranch.replay.ledger import FATES, Account
from anabranch.validate.measures import Difference, Row
from anabranch.validate.report import Bucket
from anabranch.validate.result import CheckOutcome, Result, counted

MOST_BUCKETS = 2000
"""Rows of the table of buckets. All of them are in the JSON document."""

_MARKS = {CheckOutcome.PASSED: "✓ passed", CheckOutcome.WARNED: "! look", CheckOutcome.FAILED: "✗ failed"}
_FATES = {
    "output": "gave at least one row",
    "filtered": "in the range, gave no row",
    "out_of_range": "outside the range by event time",
    "quarantined": "could not be decoded, set aside",
    "control": "commit or abort marker of a transaction",
    "aborted": "record of an aborted transaction",
    "compacted": "compacted away by the topic",
    "lost": "lost to retention before it could be read",
    "superseded": "a later event of the same key in the same slice counts instead",
    "windowed": "windows of the range were computed from it",
}


def table(headings: Sequence[str | Html], rows: Sequence[Html], class_: str | None = None) -> Html:
    head = tag("tr", *(each if isinstance(each, Html) else tag("th", each, scope="col") for each in headings))
    return tag(
        "div", tag("table", tag("thead", head), tag("tbody", *rows), class_=class_), class_="scroll", tabindex="0"
    )


def checks_table(results: Sequence[Result]) -> Html:
    rows = [
        tag(
            "tr",
            tag("td", _MARKS[result.outcome], class_="outcome"),
            tag("td", tag("b", result.check)),
            tag("td", result.expected, data_label="expected"),
            tag("td", result.found, data_label="found"),
            class_=result.outcome.value,
        )
        for result in results
    ]
    samples = [_sample(result) for result in results if result.sample or result.pairs]
    return join((table(("Outcome", "Check", "Expected", "Found"), rows, "checks"), *samples))


def _sample(result: Result) -> Html:
    size = counted(len(result.sample) + len(result.pairs), "row")
    return tag(
        "details",
        tag("summary", f"{result.check}: {size} as a sample"),
        _rows_table(result.sample) if result.sample else None,
        differences_table(result.pairs, result.sides) if result.pairs else None,
        open=result.outcome is CheckOutcome.FAILED,
    )


def _rows_table(rows: Sequence[Row]) -> Html:
    names = _names(rows)
    return table(names, [tag("tr", *(_cell(row, name) for name in names)) for row in rows], "sample")


def differences_table(pairs: Sequence[Difference], sides: tuple[str, str] = ("before", "after")) -> Html:
    """Each row before above the same row after, with the cells marked that differ."""
    names = _names([row for pair in pairs for row in (pair.before, pair.after) if row is not None])
    rows = []
    for pair in pairs:
        old, new = pair.before, pair.after
        # A known record names some columns only; where it is silent nothing differs.
        differing = {n for n in names if old and new and n in old and old.get(n) != new.get(n)}
        if old is not None:
            cells = (_cell(old, name, "was" if name in differing else None) for name in names)
            rows.append(tag("tr", tag("th", sides[0], scope="row"), *cells, class_="old"))
        if new is not None:
            cells = (_cell(new, name, "is" if name in differing else None) for name in names)
            rows.append(tag("tr", tag("th", sides[1], scope="row"), *cells, class_="new" if old else "old"))
    return table(("", *names), rows, "sample")


def _names(rows: Sequence[Row]) -> list[str]:
    """Every column that any of the rows has, in the order of their first appearance."""
    return list(dict.fromkeys(name for row in rows for name in row))


def _cell(row: Row, name: str, class_: str | None = None) -> Html:
    if name not in row:
        return tag("td", "", class_=class_)
    value = row[name]
    if value is None:
        return tag("td", tag("span", "null", class_="null"), class_=class_)
    if isinstance(value, str):
        return (
            tag("td", value, class_=class_) if value else tag("td", tag("span", "empty", class_="null"), class_=class_)
        )
    number = "number" if isinstance(value, int) and not isinstance(value, bool) else None
    text = f"{value:,}" if number else json.dumps(value, ensure_ascii=False)
    return tag("td", text, class_=" ".join(filter(None, (class_, number))) or None)


def bucket_table(buckets: Sequence[Bucket], grain: str) -> Html:
    rows = [
        tag(
            "tr",
            tag("td", moment(bucket.start)),
            _number(f"{bucket.base.rows:,}"),
            _number(f"{bucket.staged.rows:,}"),
            _number(f"{bucket.difference:+,}" if bucket.difference else "0"),
            tag("td", "changed" if bucket.changed else "unchanged"),
            tag("td", tag("code", bucket.staged.text)),
        )
        for bucket in buckets[:MOST_BUCKETS]
    ]
    numbers = tuple(tag("th", word, scope="col", class_="number") for word in ("Before", "After", "Difference"))
    title = f"The numbers, {grain} by {grain}"
    if len(buckets) > MOST_BUCKETS:
        title += f" (the first {MOST_BUCKETS:,} of {len(buckets):,}; all are in the JSON file)"
    heading = join((grain.capitalize(), " (", tag("span", "UTC", class_="zone"), ")"))
    headings = (tag("th", heading, scope="col"), *numbers, "Content", "Checksum after")
    return tag("details", tag("summary", title), table(headings, rows))


def ledger_section(ledger: Account, partitions: Mapping[int, Account]) -> Html:
    if not ledger.offsets:
        return tag("p", "No offsets were replayed.", class_="soft")
    agree = "and the sums agree" if ledger.balances else "but the sums do not agree"
    words = f"{counted(ledger.offsets, 'offset')} replayed, {agree}; {counted(ledger.rows, 'row')} written."
    rows = [
        tag(
            "tr",
            tag("td", tag("span", class_=f"swatch fate-{fate}"), fate.replace("_", " ")),
            _number(f"{count:,}"),
            _number(_share(count, ledger.offsets)),
            tag("td", _FATES[fate]),
        )
        for fate, count in ledger.fates.items()
    ]
    headings = ("Fate", *(tag("th", w, scope="col", class_="number") for w in ("Offsets", "Share")), "Meaning")
    return join(
        (
            tag("p", words),
            ledger_bar(tuple(ledger.fates.items())),
            table(headings, rows),
            _by_partition(partitions),
        )
    )


def _by_partition(partitions: Mapping[int, Account]) -> Html:
    headings = ("offsets", *FATES, "rows")
    rows = [
        tag("tr", _number(str(p)), *(_number(f"{getattr(account, name):,}") for name in headings))
        for p, account in sorted(partitions.items())
    ]
    heads = [tag("th", name.replace("_", " "), scope="col", class_="number") for name in ("partition", *headings)]
    return tag("details", tag("summary", "By partition of the topic"), table(heads, rows))


def _number(text: str) -> Html:
    return tag("td", text, class_="number")


def _share(count: int, whole: int) -> str:
    share = 100 * count / whole
    return "0" if not count else "< 0.01%" if share < 0.01 else f"{share:.2f}%"
