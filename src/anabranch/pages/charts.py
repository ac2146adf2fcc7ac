"""Charts as inline SVG: rows per bucket before and after, their difference, and what became of every offset.

Only shapes are drawn in SVG, stretched to whatever width there is; words stand beside it in HTML, so that they are as
large on a phone as on a wall.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from anabranch.pages.html import Html, join, moment, tag
from anabranch.plan.target_range import Grain, beginning, ordinal
from anabranch.validate.attribution import Attribution
from anabranch.validate.measures import Checksum
from anabranch.validate.report import Bucket

BARS = 60
"""Up to so many buckets are drawn as pairs of bars; more as outlines."""
COLUMNS = 1000
"""More buckets than this are drawn several to a column."""


def columns(buckets: Sequence[Bucket], grain: Grain) -> list[Bucket]:
    """What is drawn: empty buckets filled in, so that a hole looks like one; then merged if they are too many."""
    there = {ordinal(grain, bucket.start): bucket for bucket in buckets}
    if not there:
        return []
    first, last = min(there), max(there)
    filled = list(buckets)
    if last - first < 10 * COLUMNS:
        empty = Checksum()
        filled = [there.get(n) or Bucket(beginning(grain, n), empty, empty) for n in range(first, last + 1)]
    together = -(-len(filled) // COLUMNS)
    return [_merged(filled[at : at + together]) for at in range(0, len(filled), together)]


def _merged(group: Sequence[Bucket]) -> Bucket:
    base, staged = Checksum(), Checksum()
    for bucket in group:
        base, staged = base + bucket.base, staged + bucket.staged
    charges = [bucket.charge for bucket in group if bucket.charge is not None]
    return Bucket(group[0].start, base, staged, sum(charges, Attribution()) if charges else None)


def rows_chart(drawn: Sequence[Bucket], grain: str) -> Html:
    """Rows before and after, and below it a band that marks the buckets whose content changed."""
    top = round_up(max(max(b.base.rows, b.staged.rows) for b in drawn))
    if len(drawn) <= BARS:
        shapes = join(_pair(i, bucket, top) for i, bucket in enumerate(drawn))
    else:
        shapes = join(
            (
                tag("path", d=_outline([b.base.rows for b in drawn], top, closed=True), class_="before"),
                tag("path", d=_outline([b.staged.rows for b in drawn], top, closed=False), class_="after-line"),
            )
        )
    before, after = (sum(counts) for counts in zip(*((b.base.rows, b.staged.rows) for b in drawn), strict=True))
    words = f"Rows per {grain} over {len(drawn)} columns: {before:,} rows before, {after:,} after."
    return framed("rows", f"Rows per {grain}, before and after", words, drawn, shapes, scale_of(0, top), band=True)


def difference_chart(drawn: Sequence[Bucket], grain: str) -> Html | None:
    """Rows after minus rows before; None if there is no difference anywhere."""
    largest = max(abs(bucket.difference) for bucket in drawn)
    if not largest:
        return None
    top = round_up(largest)
    low, high = min(b.difference for b in drawn), max(b.difference for b in drawn)
    bottom, top = (-top if low < 0 else 0), (top if high > 0 else 0)
    zero = 100 * top / (top - bottom)
    shapes = [tag("line", x1=0, x2=len(drawn), y1=f"{zero:.2f}", y2=f"{zero:.2f}", class_="zero")]
    for i, bucket in enumerate(drawn):
        height = 100 * abs(bucket.difference) / (top - bottom)
        y, kind = (zero - height, "more") if bucket.difference > 0 else (zero, "fewer")
        if height:
            shapes.append(tag("rect", x=i + 0.1, width=0.8, y=f"{y:.2f}", height=f"{height:.2f}", class_=kind))
    words = f"Rows after minus rows before, per {grain}: from {low:+,} to {high:+,}."
    return framed(
        "difference", f"Difference per {grain}", words, drawn, join(shapes), scale_of(bottom, top), short=True
    )


def ledger_bar(fates: Sequence[tuple[str, int]]) -> Html:
    """One bar, as long as all offsets. A fate that is there at all can be seen, however rare."""
    total = sum(count for _, count in fates)
    rarest = total / 120
    widths = [(name, max(count, rarest)) for name, count in fates if count]
    whole = sum(width for _, width in widths)
    at, shapes = 0.0, []
    for name, width in widths:
        share = 1000 * width / whole
        count = dict(fates)[name]
        title = tag("title", f"{name.replace('_', ' ')}: {count:,} of {total:,}")
        shapes.append(tag("rect", title, x=f"{at:.2f}", y=0, width=f"{share:.2f}", height=10, class_=f"fate-{name}"))
        at += share
    words = "; ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in fates if count)
    inner = join((tag("title", "What became of every offset", id="ledger-title"), tag("desc", words, id="ledger-desc")))
    return tag(
        "svg",
        inner,
        *shapes,
        viewBox="0 0 1000 10",
        preserveAspectRatio="none",
        class_="ledger",
        role="img",
        aria_labelledby="ledger-title ledger-desc",
    )


def _pair(index: int, bucket: Bucket, top: int) -> Html:
    before, after = (100 * rows / top for rows in (bucket.base.rows, bucket.staged.rows))
    return join(
        (
            tag("rect", x=index + 0.14, width=0.34, y=f"{100 - before:.2f}", height=f"{before:.2f}", class_="before"),
            tag("rect", x=index + 0.52, width=0.34, y=f"{100 - after:.2f}", height=f"{after:.2f}", class_="after"),
        )
    )


def _outline(rows: Sequence[int], top: int, *, closed: bool) -> str:
    steps = [f"V{100 - 100 * count / top:.2f}H{i + 1}" for i, count in enumerate(rows)]
    if closed:
        return f"M0 100{''.join(steps)}V100Z"
    return f"M0 {100 - 100 * rows[0] / top:.2f}{''.join(steps)}"


def framed(
    name: str,
    title: str,
    words: str,
    drawn: Sequence[Bucket],
    shapes: Html,
    scale: Sequence[tuple[float, int]],
    *,
    band: bool = False,
    short: bool = False,
) -> Html:
    """The plot between its scale on the left and its times below."""
    grid = [tag("line", x1=0, x2=len(drawn), y1=f"{y:.2f}", y2=f"{y:.2f}", class_="grid") for y, _ in scale]
    labels = [tag("span", _short(value), style=f"top:{y:.2f}%") for y, value in scale]
    plot = tag(
        "svg",
        tag("title", title, id=f"{name}-title"),
        tag("desc", words, id=f"{name}-desc"),
        *grid,
        shapes,
        *(_hover(i, bucket) for i, bucket in enumerate(drawn)),
        viewBox=f"0 0 {len(drawn)} 100",
        preserveAspectRatio="none",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
    )
    return tag(
        "div",
        tag("div", *labels, class_="scale", aria_hidden="true"),
        tag("div", plot, class_="plot"),
        _band(drawn) if band else None,
        tag("div", *_times([bucket.start for bucket in drawn]), class_="times"),
        class_="chart short" if short else "chart",
    )


def _hover(index: int, bucket: Bucket) -> Html:
    changed = "content changed" if bucket.changed else "unchanged"
    at = bucket.start.strftime("%Y-%m-%d %H:%M UTC")
    words = f"{at}\nbefore {bucket.base.rows:,}, after {bucket.staged.rows:,} ({bucket.difference:+,}), {changed}"
    return tag("rect", tag("title", words), x=index, y=0, width=1, height=100, class_="hover")


def _band(drawn: Sequence[Bucket]) -> Html:
    """Runs of changed buckets, each as one mark."""
    marks, start = [], None
    for i, changed in enumerate([*(bucket.changed for bucket in drawn), False]):
        if changed and start is None:
            start = i
        elif not changed and start is not None:
            marks.append(tag("rect", x=start, y=0, width=i - start, height=1))
            start = None
    plot = tag("svg", *marks, viewBox=f"0 0 {len(drawn)} 1", preserveAspectRatio="none", aria_hidden="true")
    return tag("div", plot, class_="band")


def _times(starts: Sequence[datetime]) -> list[Html]:
    """At most five moments, at the left edge of their columns. On a narrow screen only the first and last are shown."""
    count = min(5, len(starts))
    chosen = sorted({round(i * (len(starts) - 1) / max(1, count - 1)) for i in range(count)})
    return [tag("span", moment(starts[i]), style=f"left:{100 * (i + 0.5) / len(starts):.2f}%") for i in chosen]


def scale_of(bottom: int, top: int) -> list[tuple[float, int]]:
    """Heights in percent from the top, and the numbers there."""
    if bottom < 0 < top:
        marks = [top, 0, bottom]
    else:
        marks = [top, (top + bottom) // 2, bottom] if (top + bottom) % 2 == 0 else [top, bottom]
    return [(100 * (top - mark) / (top - bottom), mark) for mark in marks]


def round_up(number: int) -> int:
    """The next number that reads well on a scale and halves evenly."""
    size = 1
    while True:
        for step in (2, 4, 6, 8, 10):
            if number <= step * size:
                return step * size
        size *= 10


def _short(number: int) -> str:
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if abs(number) >= size:
            return f"{number / size:g}{unit}"
    return str(number)
