"""How long live takes from arrival to commit: measured from the broker's answers and the table, and drawn in one line.

Not from the product's own signals: these hold the replay back, so something else has to tell whether they did.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import quantiles
from typing import TYPE_CHECKING

from anabranch.adapters.iceberg import properties as props
from anabranch.promote.history import Author

if TYPE_CHECKING:
    from confluent_kafka import Message
    from pyiceberg.table import Table

BARS = "▁▂▃▄▅▆▇█"


@dataclass
class Arrivals:
    """When the broker acknowledged each record, by partition: offsets and moments, both growing."""

    offsets: dict[int, list[int]] = field(default_factory=dict)
    moments: dict[int, list[float]] = field(default_factory=dict)

    def acknowledged(self, error: object, message: Message) -> None:
        """A delivery callback of a producer."""
        partition, offset = message.partition(), message.offset()
        if error is None and partition is not None and offset is not None:
            self.note(partition, offset, time.time())

    def note(self, partition: int, offset: int, moment: float) -> None:
        self.offsets.setdefault(partition, []).append(offset)
        self.moments.setdefault(partition, []).append(moment)


@dataclass(frozen=True)
class Latency:
    arrived: float
    """Seconds since 1970."""
    seconds: float


def live_commits(table: Table) -> dict[int, list[tuple[int, float]]]:
    """By partition: the offset after the last that each commit of live contains, and the moment of the commit."""
    commits: dict[int, list[tuple[int, float]]] = {}
    for snapshot in sorted(table.snapshots(), key=lambda each: each.sequence_number or 0):
        properties = dict(snapshot.summary.additional_properties) if snapshot.summary else {}
        if properties.get(props.AUTHOR) == Author.LIVE.value:
            for partition, (_, end) in props.read_offsets(properties).items():
                commits.setdefault(partition, []).append((end, snapshot.timestamp_ms / 1000))
    return commits


def latencies(arrivals: Arrivals, commits: Mapping[int, Sequence[tuple[int, float]]]) -> list[Latency]:
    """Of each record that a commit contains, in the order of arrival. A record that no commit contains yet has none."""
    measured: list[Latency] = []
    for partition, offsets in arrivals.offsets.items():
        ends = [end for end, _ in commits.get(partition, ())]
        for offset, arrived in zip(offsets, arrivals.moments[partition], strict=True):
            at = bisect_right(ends, offset)
            if at < len(ends):
                measured.append(Latency(arrived, commits[partition][at][1] - arrived))
    return sorted(measured, key=lambda each: each.arrived)


def between(measured: Iterable[Latency], began: float, ended: float) -> list[Latency]:
    return [each for each in measured if began <= each.arrived < ended]


def p99(measured: Sequence[Latency]) -> float:
    """ValueError with fewer than two."""
    if len(measured) < 2:
        raise ValueError(f"{len(measured)} latencies have no 99th percentile")
    return quantiles([each.seconds for each in measured], n=100, method="inclusive")[-1]


def strip(measured: Sequence[Latency], began: float, ended: float, top: float) -> str:
    """One character a second: the longest latency of the records that arrived in it, a blank where none did.

    `top` is drawn as the highest bar; more is drawn as high.
    """
    worst: dict[int, float] = {}
    for each in between(measured, began, ended):
        second = int(each.arrived - began)
        worst[second] = max(worst.get(second, 0.0), each.seconds)
    return "".join(_bar(worst.get(second), top) for second in range(int(ended - began)))


def _bar(seconds: float | None, top: float) -> str:
    if seconds is None:
        return " "
    share = min(1.0, max(0.0, seconds / top)) if top > 0 else 0.0
    return BARS[min(len(BARS) - 1, int(share * len(BARS)))]
