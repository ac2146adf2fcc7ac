"""The geometry of the validation page's charts: rows per bucket, their difference, its causes, and the offset ledger.

What is here are values; `templates/chart.html` draws them as inline SVG.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from anabranch.plan.target_range import Grain, beginning, ordinal
from anabranch.validate.attribution import Attribution
from anabranch.validate.measures import Checksum
from anabranch.validate.report import Bucket

BARS = 60
"""Up to so many buckets are drawn as pairs of bars; more as outlines."""
COLUMNS = 1000
"""More buckets than this are drawn several to a column."""


@dataclass(frozen=True)
class Bar:
    x: float
    width: float
    y: float
    height: float
    kind: str
    words: str = ""


@dataclass(frozen=True)
class Outline:
    path: str
    kind: str


@dataclass(frozen=True)
class Chart:
    """A plot of one unit of width per column and 100 units of height."""

    name: str
    title: str
    words: str
    """What the chart shows, for those who can't see it."""
    columns: Sequence[Bucket]
    top: int
    bottom: int = 0
    bars: Sequence[Bar] = ()
    outlines: Sequence[Outline] = ()
    zero: float | None = None
    """Height of the line of zero, if it is not the lower edge."""
    band: bool = False
    """Whether a band below the plot marks the buckets whose content changed."""
    short: bool = False

    @property
    def scale(self) -> list[tuple[float, str]]:
        """Heights in percent from the top, and the numbers there."""
        top, bottom = self.top, self.bottom
        if bottom < 0 < top:
            marks = [top, 0, bottom]
        else:
            marks = [top, (top + bottom) // 2, bottom] if (top + bottom) % 2 == 0 else [top, bottom]
        return [(100 * (top - mark) / (top - bottom), _short(mark)) for mark in marks]

    @property
    def marks(self) -> Iterator[tuple[int, int]]:
        """First column and width of each run of changed buckets."""
        start = None
        for i, changed in enumerate([*(bucket.changed for bucket in self.columns), False]):
            if changed and start is None:
                start = i
            elif not changed and start is not None:
                yield start, i - start
                start = None

    @property
    def times(self) -> list[tuple[float, datetime]]:
        """At most five moments and where their columns are, in percent. A narrow screen shows the first and last."""
        size = len(self.columns)
        count = min(5, size)
        chosen = sorted({round(i * (size - 1) / max(1, count - 1)) for i in range(count)})
        return [(100 * (i + 0.5) / size, self.columns[i].start) for i in chosen]


@dataclass(frozen=True)
class LedgerBar:
    words: str = ""
    bars: Sequence[Bar] = field(default_factory=tuple)


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


def rows_chart(drawn: Sequence[Bucket], grain: str) -> Chart:
    """Rows before and after, and below them a band that marks the buckets whose content changed."""
    top = round_up(max(max(b.base.rows, b.staged.rows) for b in drawn))
    bars: list[Bar] = []
    outlines: list[Outline] = []
    if len(drawn) <= BARS:
        for i, bucket in enumerate(drawn):
            before, after = (100 * rows / top for rows in (bucket.base.rows, bucket.staged.rows))
            bars.append(Bar(i + 0.14, 0.34, 100 - before, before, "before"))
            bars.append(Bar(i + 0.52, 0.34, 100 - after, after, "after"))
    else:
        outlines = [
            Outline(_outline([b.base.rows for b in drawn], top, closed=True), "before"),
            Outline(_outline([b.staged.rows for b in drawn], top, closed=False), "after-line"),
        ]
    before, after = (sum(counts) for counts in zip(*((b.base.rows, b.staged.rows) for b in drawn), strict=True))
    words = f"Rows per {grain} over {len(drawn)} columns: {before:,} rows before, {after:,} after."
    title = f"Rows per {grain}, before and after"
    return Chart("rows", title, words, drawn, top, bars=bars, outlines=outlines, band=True)


def difference_chart(drawn: Sequence[Bucket], grain: str) -> Chart | None:
    """Rows after minus rows before; None if there is no difference anywhere."""
    largest = max(abs(bucket.difference) for bucket in drawn)
    if not largest:
        return None
    top = round_up(largest)
    low, high = min(b.difference for b in drawn), max(b.difference for b in drawn)
    bottom, top = (-top if low < 0 else 0), (top if high > 0 else 0)
    zero = 100 * top / (top - bottom)
    bars = []
    for i, bucket in enumerate(drawn):
        height = 100 * abs(bucket.difference) / (top - bottom)
        y, kind = (zero - height, "more") if bucket.difference > 0 else (zero, "fewer")
        if height:
            bars.append(Bar(i + 0.1, 0.8, y, height, kind))
    words = f"Rows after minus rows before, per {grain}: from {low:+,} to {high:+,}."
    title = f"Difference per {grain}"
    return Chart("difference", title, words, drawn, top, bottom, bars=bars, zero=zero, short=True)


def attribution_chart(drawn: Sequence[Bucket], grain: str) -> Chart:
    """Differing keys or rows per bucket: noise on top of the fix, so that the whole bar is all that differs."""
    found = [bucket.charge or Attribution() for bucket in drawn]
    top = round_up(max(each.fix + each.noise for each in found))
    bars = []
    for i, each in enumerate(found):
        fix, noise = (100 * number / top for number in (each.fix, each.noise))
        for height, below, kind in ((fix, 0.0, "fix"), (noise, fix, "noise")):
            if height:
                bars.append(Bar(i + 0.1, 0.8, 100 - below - height, height, kind))
    total = sum(found, Attribution())
    words = f"Differences per {grain} over {len(drawn)} columns: {total.fix:,} by the fix, {total.noise:,} of noise."
    return Chart("charges", f"Differences per {grain}", words, drawn, top, bars=bars, short=True)


def ledger_bar(fates: Sequence[tuple[str, int]]) -> LedgerBar:
    """One bar, as long as all offsets. A fate that occurs at all can be seen, however rare."""
    total = sum(count for _, count in fates)
    rarest = total / 120
    widths = [(name, count, max(count, rarest)) for name, count in fates if count]
    whole = sum(width for _, _, width in widths)
    at, bars = 0.0, []
    for name, count, width in widths:
        share = 1000 * width / whole
        bars.append(Bar(at, share, 0, 10, f"fate-{name}", f"{name.replace('_', ' ')}: {count:,} of {total:,}"))
        at += share
    return LedgerBar("; ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in fates if count), bars)


def _outline(rows: Sequence[int], top: int, *, closed: bool) -> str:
    steps = [f"V{100 - 100 * count / top:.2f}H{i + 1}" for i, count in enumerate(rows)]
    if closed:
        return f"M0 100{''.join(steps)}V100Z"
    return f"M0 {100 - 100 * rows[0] / top:.2f}{''.join(steps)}"


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
