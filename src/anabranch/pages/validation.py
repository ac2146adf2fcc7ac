"""The report as one self-contained HTML page: it makes no network request, so it can be mailed."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

from anabranch.pages.charts import attribution_chart, columns, difference_chart, ledger_bar, rows_chart
from anabranch.pages.environment import render, source
from anabranch.pages.row_samples import pairs_sample, samples_of
from anabranch.replay.ledger import FATES
from anabranch.validate.attribution import Attribution, DiffAttribution
from anabranch.validate.checks.control import unit
from anabranch.validate.report import Bucket, Report, Verdict
from anabranch.validate.result import CheckOutcome, counted

MOST_BUCKETS = 2000
"""Rows of the table of buckets. All of them are in the JSON document."""

_MARKS = {CheckOutcome.PASSED: "✓ passed", CheckOutcome.WARNED: "! review", CheckOutcome.FAILED: "✗ failed"}
_FATES = {
    "output": "gave at least one row",
    "filtered": "in the range, gave no row",
    "out_of_range": "outside the range by event time",
    "quarantined": "could not be decoded; in quarantine",
    "control": "commit or abort marker of a transaction",
    "aborted": "record of an aborted transaction",
    "compacted": "removed by log compaction",
    "lost": "deleted by retention before it was read",
    "superseded": "a later event of the same key in the same slice counts instead",
    "windowed": "windows of the range were computed from it",
}


def render_page(report: Report) -> str:
    script = source("validation.js")
    grain = None if report.range.axis is None else report.range.axis.grain
    drawn = [] if grain is None else columns(report.buckets, grain)
    title, words = _verdict(report)
    return render(
        "validation.html",
        report=report,
        script=script,
        script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        verdict_title=title,
        verdict_words=words,
        tiles=_tiles(report),
        checks=[(result, _MARKS[result.outcome], samples_of(result)) for result in report.results],
        drawn=drawn,
        merged=len(drawn) < len(report.buckets),
        rows_chart=rows_chart(drawn, report.bucket) if drawn else None,
        difference_chart=difference_chart(drawn, report.bucket) if drawn else None,
        shown_buckets=report.buckets[:MOST_BUCKETS],
        control=None if report.charges is None else _control(report, report.charges, drawn),
        fates=[(fate, count, _share(count, report.ledger.offsets), _FATES[fate]) for fate, count in _fates(report)],
        ledger_bar=ledger_bar(_fates(report)) if report.ledger.offsets else None,
        partition_columns=("offsets", *FATES, "rows"),
        differences=pairs_sample(report.differences.rows) if report.differences.rows else None,
        following=f"anabranch {'promote' if report.verdict is Verdict.ACCEPTED else 'describe'} {report.run}",
    )


def _verdict(report: Report) -> tuple[str, str]:
    checks = counted(len(report.results), "check")
    if report.verdict is Verdict.REJECTED:
        failed = ", ".join(result.check for result in report.failed)
        words = f"{failed}. Production unchanged. This run can't be promoted."
        return f"Rejected: {len(report.failed)} of {checks} failed", words
    words = "Production unchanged until this run is promoted."
    if report.warned:
        words = f"Review before promotion: {', '.join(result.check for result in report.warned)}. {words}"
    return f"Accepted: {'all ' if len(report.results) > 1 else ''}{checks} passed", words


def _tiles(report: Report) -> list[tuple[str, str]]:
    before, after = report.rows_before, report.digest.rows
    tiles = [
        (f"{before:,}", "rows before"),
        (f"{after:,}", "rows after"),
        (f"{after - before:+,}" if after != before else "±0", "difference"),
    ]
    if report.range.axis is not None:
        changed = sum(bucket.changed for bucket in report.buckets)
        tiles.append((f"{changed:,} of {len(report.buckets):,}", f"{report.bucket}s with changed content"))
    return [*tiles, (f"{report.ledger.quarantined:,}", "records in quarantine")]


def _control(report: Report, found: DiffAttribution, drawn: Sequence[Bucket]) -> dict[str, object]:
    """What differs by the fix and what by noise, in words, in a chart and bucket by bucket."""
    total = found.total
    words = (
        f"{unit(found, total.fix)} changed by the fix: production has them as its own code computes them, and the "
        f"corrected code computes them differently. {unit(found, total.noise)} of noise: production differs from what "
        f"its own code computes from the same offsets, so the difference is not attributed to the fix"
        + (f" ({total.both:,} of these are changed by the corrected code too)." if total.both else ".")
    )
    by_bucket = bool(drawn) and total != Attribution()
    differing = [each for each in report.buckets if each.charge not in (None, Attribution())] if by_bucket else []
    return {
        "words": words,
        "code": (report.control or "")[:12],
        "chart": attribution_chart(drawn, report.bucket) if by_bucket else None,
        "rows": [(each.start, each.charge) for each in differing[:MOST_BUCKETS]],
    }


def _fates(report: Report) -> tuple[tuple[str, int], ...]:
    return tuple(report.ledger.fates.items())


def _share(count: int, whole: int) -> str:
    share = 100 * count / whole if whole else 0
    return "0" if not count else "< 0.01%" if share < 0.01 else f"{share:.2f}%"
