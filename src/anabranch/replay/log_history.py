"""When records arrived, by repeated looks at the log's ends: timestamps in records are the producers'. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

MOST, LEAST, TOGETHER = 4096, 64, 200_000
"""How many growths of a partition are remembered, at most and at least, and of all of them together: they take some
100 bytes each. Beyond it the older half is joined in pairs."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Records [first, end) arrived after one look and before the next that saw more."""

    after: float
    by: float
    first: int
    end: int

    def arrival(self, offset: float) -> float:
        """Of one record, as if they had arrived evenly."""
        share = (offset + 0.5 - self.first) / (self.end - self.first)
        return self.after + min(1.0, max(0.0, share)) * (self.by - self.after)


@dataclass
class LogHistory:
    """The growths of each partition since the first look. Times are seconds of one clock."""

    began: float | None = None
    looked: float = 0.0
    ends: dict[int, int] = field(default_factory=dict)
    first_ends: dict[int, int] = field(default_factory=dict)
    """Of the first look, or of the look that saw a new partition first: 0 there."""
    _growths: dict[int, list[Growth]] = field(default_factory=dict)

    def look(self, at: float, ends: Mapping[int, int]) -> None:
        is_first = self.began is None
        for partition, end in ends.items():
            before = self.ends.get(partition)
            if before is None:
                before = end if is_first else 0
                self.first_ends[partition] = before
            if end > before:
                self._grow(partition, Growth(self.looked, at, before, end))
            self.ends[partition] = max(end, before)
        self.began = at if self.began is None else self.began
        self.looked = at

    def arrived(self, partition: int, offset: int) -> float | None:
        """When the record arrived; None: before the first look, or not yet."""
        growths = self._growths.get(partition, [])
        index = bisect_right(growths, offset, key=lambda each: each.end)
        return growths[index].arrival(offset) if index < len(growths) and growths[index].first <= offset else None

    def latencies(self, partition: int, start: int, end: int, committed: float) -> Iterator[float]:
        """Seconds until the commit of [start, end), one for each growth in it, by the record in its middle."""
        growths = self._growths.get(partition, [])
        for growth in growths[bisect_right(growths, start, key=lambda each: each.end) :]:
            first, last = max(start, growth.first), min(end, growth.end)
            if first >= last:
                break
            yield max(0.0, committed - growth.arrival((first + last - 1) / 2))

    def lag(self, position: Mapping[int, int]) -> int:
        return sum(max(0, end - self.position_of(position, partition)) for partition, end in self.ends.items())

    def lag_seconds(self, position: Mapping[int, int], now: float) -> float:
        """Age of the oldest record that is not written.

        Of one that arrived before the first look it is at least the time since, and by the rate of arrivals since.
        """
        waiting = {p: at for p, end in self.ends.items() if (at := self.position_of(position, p)) < end}
        return max((self._age(partition, at, now) for partition, at in waiting.items()), default=0.0)

    def position_of(self, position: Mapping[int, int], partition: int) -> int:
        """Live's; of a partition of which live has recorded none, its end at the first look."""
        return position.get(partition, self.first_ends.get(partition, 0))

    def _age(self, partition: int, offset: int, now: float) -> float:
        came = self.arrived(partition, offset)
        if came is not None:
            return max(0.0, now - came)
        since = now - (now if self.began is None else self.began)
        grown = self.ends[partition] - self.first_ends[partition]
        if since <= 0 or grown <= 0:
            return since
        return max(since, (self.ends[partition] - offset) * since / grown)

    def _grow(self, partition: int, growth: Growth) -> None:
        growths = self._growths.setdefault(partition, [])
        growths.append(growth)
        most = max(LEAST, min(MOST, TOGETHER // max(1, len(self.ends)) // 4 * 4))
        if len(growths) > most:
            old, new = growths[: most // 2], growths[most // 2 :]
            joined = [Growth(a.after, b.by, a.first, b.end) for a, b in zip(old[::2], old[1::2], strict=True)]
            self._growths[partition] = [*joined, *new]
