"""What live did in each block of an experiment, by the samples of its position and its log's end. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from statistics import fmean

from anabranch.gates.impact.measured import MeasuredBlock
from anabranch.readiness.live_samples import LiveSample, latencies

LEAST_SEEN = 0.25
"""Of the looks at live that a block should have had: with fewer it does not count."""
MOST_READ = 0.01
"""Of the rate in blocks with the replay, that may be read in one without."""


@dataclass(frozen=True)
class BlockSpan:
    """A block as it was carried out. Times are of the samples' clock."""

    number: int
    pair: int
    on: bool
    start: float
    """Of what counts: after the part that is dropped."""
    end: float
    bytes: int
    """Read by the replay between `start` and `end`."""
    bytes_per_second: int | None = None
    flaw: str | None = None
    """What kept the block from being what it should be."""


def measure_blocks(
    spans: Sequence[BlockSpan], samples: Sequence[LiveSample], sample_seconds: float
) -> tuple[MeasuredBlock, ...]:
    """Each block with the lag of its samples and the latencies of what arrived in it, whenever that was written."""
    waits = list(latencies(samples))
    rates = [span.bytes / (span.end - span.start) for span in spans if span.on and span.end > span.start]
    most = MOST_READ * fmean(rates) if rates else 0.0
    return tuple(_measured(span, samples, waits, sample_seconds, most) for span in spans)


def _measured(
    span: BlockSpan,
    samples: Sequence[LiveSample],
    waits: Sequence[tuple[LiveSample, float]],
    sample_seconds: float,
    most: float,
) -> MeasuredBlock:
    inside = [each for each in samples if span.start <= each.at < span.end]
    lags = [each.lag for each in inside if each.lag is not None]
    # A record that was written before the next look took less than the time between two looks: half of it on average.
    waited = [max(sample_seconds / 2, seconds) for came, seconds in waits if span.start <= came.at < span.end]
    return MeasuredBlock(
        number=span.number,
        pair=span.pair,
        on=span.on,
        seconds=round(span.end - span.start, 3),
        latency=exp(fmean(map(log, waited))) if waited else None,
        latency_worst=max(waited, default=None),
        arrivals=len(waited),
        lag=fmean(lags) if lags else None,
        lag_worst=max(lags, default=None),
        samples=len(inside),
        bytes=span.bytes,
        bytes_per_second=span.bytes_per_second,
        flaw=span.flaw or _flaw(span, len(inside), sample_seconds, most),
    )


def _flaw(span: BlockSpan, seen: int, sample_seconds: float, most: float) -> str | None:
    due = (span.end - span.start) / sample_seconds
    if seen < LEAST_SEEN * due:
        return f"live was sampled {seen} of {due:.0f} times"
    if span.on and span.bytes == 0:
        return "the replay read nothing"
    if not span.on and span.bytes > most * (span.end - span.start):
        return f"the replay read {span.bytes:,} bytes"
    return None


def longest_batch(samples: Sequence[LiveSample]) -> float | None:
    """The longest time between two advances of live's position; None: fewer than two were seen."""
    moves = [
        later.at
        for former, later in pairwise(samples)
        if later.position is not None and former.position is not None and _advanced(former, later)
    ]
    return max((b - a for a, b in pairwise(moves)), default=None)


def _advanced(former: LiveSample, later: LiveSample) -> bool:
    before, after = former.position or {}, later.position or {}
    return any(end > before.get(partition, 0) for partition, end in after.items())
