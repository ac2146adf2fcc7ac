"""Live's lag, latency and arrivals, from samples of its position and its log's end. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class LiveSample:
    at: float
    """Seconds of any clock that only grows."""
    ends: Mapping[int, int]
    """Of the log, by partition."""
    position: Mapping[int, int] | None
    """Live's position; None: unknown."""
    replaying: bool
    """Whether a replay was reading then, or resting."""

    @property
    def lag(self) -> int | None:
        if self.position is None:
            return None
        return sum(max(0, end - self.position.get(partition, end)) for partition, end in self.ends.items())


def worst_lag(samples: Sequence[LiveSample], *, replaying: bool) -> int | None:
    return max((each.lag for each in samples if each.replaying is replaying and each.lag is not None), default=None)


def worst_latency(samples: Sequence[LiveSample], *, replaying: bool) -> float | None:
    """The longest that live took to write records, of those that arrived while a replay was reading, or resting.

    By the samples that saw them arrive and be written, not by their timestamps, which producers choose. Records that
    live had not written by the last sample count until then. None: no record arrived.
    """
    return max((seconds for came, seconds in latencies(samples) if came.replaying is replaying), default=None)


def arrivals_per_second(samples: Sequence[LiveSample]) -> float:
    if len(samples) < 2:
        return 0.0
    first, last = samples[0], samples[-1]
    came = sum(last.ends.values()) - sum(first.ends.values())
    return max(0, came) / max(0.001, last.at - first.at)


def latencies(samples: Sequence[LiveSample]) -> Iterator[tuple[LiveSample, float]]:
    """For every growth of a partition: the sample that saw it arrive, and the seconds until it was written.

    What was not written by the last sample has taken until then.
    """
    for index in range(1, len(samples)):
        before, came = samples[index - 1], samples[index]
        for partition, end in came.ends.items():
            if end > before.ends.get(partition, 0) and came.position is not None:
                later = (each for each in samples[index:] if (each.position or {}).get(partition, 0) >= end)
                yield came, next(later, samples[-1]).at - came.at
