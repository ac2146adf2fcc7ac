"""A validation report on a terminal: the checks, the verdict, and the first sample rows of failed checks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from anabranch.cli.output import print_table
from anabranch.runs.canonical import instant_text
from anabranch.runs.printable import printable
from anabranch.validate.report import Report, Verdict
from anabranch.validate.result import CheckOutcome, Result, counted

if TYPE_CHECKING:
    from rich.console import Console

ROWS_SHOWN = 3
_MARKS = {
    CheckOutcome.PASSED: ("✓", "green"),
    CheckOutcome.WARNED: ("!", "yellow"),
    CheckOutcome.FAILED: ("✗", "bold red"),
}


def print_report(report: Report, console: Console) -> None:
    from rich.text import Text

    rows = (
        (Text(*_MARKS[result.outcome]), *map(printable, (result.check, result.expected, result.found)))
        for result in report.results
    )
    print_table(console, ("", "check", "expected", "found"), rows)
    for result in report.failed:
        for line in _samples(result):
            console.print(Text(line, "dim", overflow="fold"))
    before, after = report.rows_before, report.digest.rows
    changed = sum(bucket.changed for bucket in report.buckets)
    console.print()
    counts = f"{before:,} rows before, {after:,} after"
    if report.range.axis is not None:
        counts += f"; {changed:,} of {counted(len(report.buckets), report.bucket)} changed"
    console.print(Text(f"{printable(report.table)}, {_span(report)}: {counts}."))
    if report.charges is not None:
        total = report.charges.total
        control = f"{total.fix:,} changed by the fix, {total.noise:,} of noise"
        console.print(Text(f"Compared with the control: {control}."))
    console.print(Text(*_verdict(report)))


def _span(report: Report) -> str:
    if report.range.start is None or report.range.end is None:
        return "the whole table"
    start, end = (instant_text(at)[:16].replace("T", " ") for at in (report.range.start, report.range.end))
    return f"{start} to {end} UTC"


def _samples(result: Result) -> list[str]:
    rows = [dict(row) for row in result.sample]
    rows += [dict(zip(result.sides, (p.before, p.after), strict=True)) for p in result.pairs]
    lines = [f"  {result.check}: {printable(json.dumps(row, ensure_ascii=False))}" for row in rows[:ROWS_SHOWN]]
    if len(rows) > ROWS_SHOWN:
        lines.append(f"  {result.check}: … {len(rows) - ROWS_SHOWN} more on the validation page")
    return lines


def _verdict(report: Report) -> tuple[str, str]:
    if report.verdict is Verdict.REJECTED:
        return f"Rejected: {len(report.failed)} of {counted(len(report.results), 'check')} failed.", "bold red"
    review = f", {len(report.warned)} to review" if report.warned else ""
    return f"Accepted: {counted(len(report.results), 'check')} passed{review}.", "bold green"
