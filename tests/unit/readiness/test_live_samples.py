"""Live as it was watched: lag, latency and arrivals from samples, told apart by whether a replay was reading."""

from __future__ import annotations

import pytest

from anabranch.readiness.live_samples import LiveSample, arrivals_per_second, worst_lag, worst_latency


def sample(at: float, end: int, position: int | None, *, replaying: bool = False) -> LiveSample:
    return LiveSample(at, {0: end}, None if position is None else {0: position}, replaying)


BESIDE = [
    sample(0, 10, 10),
    sample(1, 20, 10, replaying=True),
    sample(2, 20, 10, replaying=True),
    sample(5, 20, 20, replaying=True),
    sample(6, 25, 20),
    sample(7, 25, 25),
]


def test_lag_and_latency_are_told_apart_by_whether_a_replay_was_reading() -> None:
    assert (worst_lag(BESIDE, replaying=True), worst_lag(BESIDE, replaying=False)) == (10, 5)
    assert (worst_latency(BESIDE, replaying=True), worst_latency(BESIDE, replaying=False)) == (4, 1)


def test_what_was_never_written_has_taken_until_the_end_at_least() -> None:
    assert worst_latency([*BESIDE, sample(8, 30, 25), sample(20, 30, 25)], replaying=False) == 12


def test_where_live_is_not_or_nothing_came_nobody_can_say() -> None:
    absent = [sample(0, 10, None), sample(1, 20, None)]
    assert (worst_lag(absent, replaying=False), worst_latency(absent, replaying=False)) == (None, None)
    quiet = [sample(0, 10, 7), sample(1, 10, 7)]
    assert (worst_lag(quiet, replaying=False), worst_latency(quiet, replaying=False)) == (3, None)


def test_a_partition_that_is_behind_counts_though_another_is_ahead() -> None:
    samples = [
        LiveSample(0, {0: 10, 1: 10}, {0: 10, 1: 10}, False),
        LiveSample(1, {0: 20, 1: 11}, {0: 10, 1: 10}, False),
        LiveSample(2, {0: 20, 1: 30}, {0: 10, 1: 30}, False),
        LiveSample(9, {0: 20, 1: 30}, {0: 20, 1: 30}, False),
    ]
    assert worst_latency(samples, replaying=False) == 8


def test_arrivals_are_counted_over_all_of_the_time() -> None:
    assert arrivals_per_second(BESIDE) == pytest.approx(15 / 7)
    assert arrivals_per_second(BESIDE[:1]) == 0
