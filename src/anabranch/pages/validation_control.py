"""The page's section on the control: what is charged to the fix and what to noise, bucket by bucket."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.pages.charts import framed, round_up, scale_of
from anabranch.pages.html import Html, join, moment, tag
from anabranch.pages.validation_tables import MOST_BUCKETS, table
from anabranch.validate.attribution import Attribution
from anabranch.validate.checks.control import unit
from anabranch.validate.report import Bucket, Report


def control_section(report: Report, drawn: Sequence[Bucket]) -> Html | None:
    """None if there was no control."""
    charges = report.charges
    if charges is None:
        return None
    total = charges.total
    words = (
        f"{unit(charges, total.fix)} changed by the fix: production has them as its own code makes them, and the "
        f"corrected code makes them otherwise. {unit(charges, total.noise)} of noise: production has them otherwise "
        f"than its own code makes them of the same offsets, so their difference is not charged to the fix"
        + (f" ({total.both:,} of these the corrected code changes too)." if total.both else ".")
    )
    return tag(
        "section",
        tag("h2", "The fix, and the noise floor"),
        tag("p", words, " The control ran the code ", tag("code", (report.control or "")[:12]), "."),
        *_by_bucket(report, drawn, total),
    )


def charges_chart(drawn: Sequence[Bucket], grain: str) -> Html:
    """Noise stands on the fix, so that the whole bar is all that differs."""
    charges = [bucket.charge or Attribution() for bucket in drawn]
    top = round_up(max(each.fix + each.noise for each in charges))
    shapes = []
    for i, charge in enumerate(charges):
        fix, noise = (100 * number / top for number in (charge.fix, charge.noise))
        for height, below, kind in ((fix, 0.0, "fix"), (noise, fix, "noise")):
            if height:
                y = f"{100 - below - height:.2f}"
                shapes.append(tag("rect", x=i + 0.1, width=0.8, y=y, height=f"{height:.2f}", class_=kind))
    total = sum(charges, Attribution())
    words = f"Differences per {grain} over {len(drawn)} columns: {total.fix:,} by the fix, {total.noise:,} of noise."
    return framed("charges", f"Differences per {grain}", words, drawn, join(shapes), scale_of(0, top), short=True)


def _by_bucket(report: Report, drawn: Sequence[Bucket], total: Attribution) -> list[Html]:
    if report.range.axis is None or not drawn or total == Attribution():
        return []
    legend = [
        tag("span", tag("span", class_="swatch", style=f"background:var({colour})"), words)
        for colour, words in (("--fix", "changed by the fix"), ("--noise", "noise"))
    ]
    differing = [bucket for bucket in report.buckets if bucket.charge not in (None, Attribution())]
    rows = [
        tag("tr", tag("td", moment(each.start)), *(_number(n) for n in (charge.fix, charge.noise, charge.both)))
        for each in differing[:MOST_BUCKETS]
        if (charge := each.charge) is not None
    ]
    headings = (report.bucket.capitalize(), "Fix", "Noise", "Of it changed too")
    title = f"The numbers, {report.bucket} by {report.bucket}"
    return [
        tag("div", *legend, class_="legend"),
        charges_chart(drawn, report.bucket),
        tag("details", tag("summary", title), table(headings, rows)),
    ]


def _number(number: int) -> Html:
    return tag("td", f"{number:,}", class_="number")
