"""The report as one self-contained HTML page: it asks nothing of any network, and opens from a mail as from a disk."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

from anabranch.pages.charts import columns, difference_chart, rows_chart
from anabranch.pages.html import Html, join, moment, tag
from anabranch.pages.validation_control import control_section
from anabranch.pages.validation_tables import bucket_table, checks_table, differences_table, ledger_section
from anabranch.plan.target_range import TargetPart, WholeTable
from anabranch.validate.report import Bucket, Report, Verdict
from anabranch.validate.result import counted

_STYLE = Path(__file__).with_name("page.css")

_SCRIPT = """
const button = document.querySelector("button");
const times = [...document.querySelectorAll("time")].map(t => ({t, utc: t.textContent, at: new Date(t.dateTime)}));
const two = n => String(n).padStart(2, "0");
const local = (d, like) => `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ` +
  `${two(d.getHours())}:${two(d.getMinutes())}` + (like.length > 16 ? `:${two(d.getSeconds())}` : "");
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
let shown = false;
for (const {t, at} of times) t.title = at.toString();
button.hidden = false;
button.onclick = () => {
  shown = !shown;
  for (const {t, utc, at} of times) t.textContent = shown ? local(at, utc) : utc;
  for (const w of document.querySelectorAll(".zone")) w.textContent = shown ? zone : "UTC";
  button.textContent = shown ? "Show UTC" : "Show local time";
};
"""


def render_page(report: Report) -> str:
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    # Even if a value found a way to become markup, the browser would neither run it nor fetch anything for it.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{report.verdict.value.capitalize()}: validation of {report.run}"),
        tag("style", Html(_STYLE.read_text(encoding="utf-8"))),
    )
    body = tag("body", tag("main", _header(report), *_sections(report)), _footer(report), tag("script", Html(_SCRIPT)))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _sections(report: Report) -> list[Html]:
    drawn = [] if report.range.axis is None else columns(report.buckets, report.range.axis.grain)
    optional = (control_section(report, drawn), _buckets(report, drawn))
    return [
        tag("section", tag("h2", "Checks"), checks_table(report.results)),
        *(section for section in optional if section is not None),
        tag("section", tag("h2", "What became of every offset"), ledger_section(report.ledger, report.partitions)),
        _differences(report),
    ]


def _header(report: Report) -> Html:
    button = tag("button", "Show local time", type="button", hidden=True)
    facts = {
        "Target": tag("span", report.table, class_="mono"),
        "Pipeline": report.pipeline,
        "Range": _span(report.range),
        "Compared": join(("staging snapshot ", _code(report.staging), " with base snapshot ", _code(report.base))),
        "Plan": _code(report.plan),
        "Digest of the rows": _code(report.digest.text),
        "Validated": join((moment(report.at, seconds=True), " ", tag("span", "UTC", class_="zone"))),
    }
    return tag(
        "header",
        tag("div", tag("h1", f"Validation of run {report.run}"), button, class_="top"),
        _verdict(report),
        _tiles(report),
        tag(
            "dl",
            *(part for name, value in facts.items() for part in (tag("dt", name), tag("dd", value))),
            class_="facts",
        ),
    )


def _span(part: TargetPart) -> Html | str:
    if isinstance(part, WholeTable):
        return "all of the table"
    zone = tag("span", "UTC", class_="zone")
    return join((moment(part.start), " to ", moment(part.end), " ", zone, f" of {part.axis.column}"))


def _verdict(report: Report) -> Html:
    if report.verdict is Verdict.REJECTED:
        failed = ", ".join(result.check for result in report.failed)
        title = f"Rejected: {len(report.failed)} of {counted(len(report.results), 'check')} failed"
        words = f"{failed}. Production is untouched; this run can't be promoted as it is."
    else:
        title = f"Accepted: {'all ' if len(report.results) > 1 else ''}{counted(len(report.results), 'check')} held"
        words = "Production is untouched until this run is promoted."
        if report.warned:
            warned = ", ".join(result.check for result in report.warned)
            words = f"Worth a look before promoting: {warned}. {words}"
    return tag("div", tag("strong", title), words, class_=f"verdict {report.verdict.value}")


def _tiles(report: Report) -> Html:
    before, after = report.rows_before, report.digest.rows
    changed = sum(bucket.changed for bucket in report.buckets)
    tiles = [
        (f"{before:,}", "rows before"),
        (f"{after:,}", "rows after"),
        (f"{after - before:+,}" if after != before else "±0", "difference"),
        *(
            []
            if report.range.axis is None
            else [(f"{changed:,} of {len(report.buckets):,}", f"{report.bucket}s with changed content")]
        ),
        (f"{report.ledger.quarantined:,}", "records in quarantine"),
    ]
    return tag(
        "div", *(tag("div", tag("b", n), tag("span", words), class_="tile") for n, words in tiles), class_="tiles"
    )


def _buckets(report: Report, drawn: Sequence[Bucket]) -> Html | None:
    if report.range.axis is None:
        return None
    grain = report.bucket
    heading = tag("h2", f"Rows per {grain}")
    if not drawn:
        return tag("section", heading, tag("p", "There are no rows in the range, neither before nor after."))
    difference = difference_chart(drawn, grain)
    same = tag("p", f"Every {grain} has exactly as many rows as before.", class_="soft")
    legend = tag(
        "div",
        _legend("--before", "before (base)"),
        _legend("--after", "after (staged)"),
        _legend("--mark", "content changed, by checksum"),
        class_="legend",
    )
    merged = len(drawn) < len(report.buckets)
    return tag(
        "section",
        heading,
        legend,
        tag("p", f"Each column stands for several {grain}s.", class_="soft") if merged else None,
        rows_chart(drawn, grain),
        tag("h3", "Difference"),
        difference or same,
        bucket_table(report.buckets, grain),
    )


def _differences(report: Report) -> Html:
    found = report.differences
    if not found.rows:
        words = "No row of the range is other than before."
        if any(bucket.changed for bucket in report.buckets):
            words = "No sample of the changed rows was taken."
        return tag("section", tag("h2", "What changed"), tag("p", words, class_="soft"))
    where = f"A sample from {counted(len(found.buckets), report.bucket)} that changed"
    how = "rows of the same key, before above after." if found.paired else "rows that are on one side only."
    return tag(
        "section", tag("h2", "What changed"), tag("p", f"{where}: {how}", class_="soft"), differences_table(found.rows)
    )


def _footer(report: Report) -> Html:
    verb = "promote" if report.verdict is Verdict.ACCEPTED else "describe"
    return tag(
        "footer", "Next: ", _code(f"anabranch {verb} {report.run}"), " · This page is one file and loads nothing."
    )


def _legend(colour: str, words: str) -> Html:
    return tag("span", tag("span", class_="swatch", style=f"background:var({colour})"), words)


def _code(value: object) -> Html:
    return tag("code", str(value))
