"""Latency as the demo and the benchmark measure it."""

from __future__ import annotations

import pytest

from anabranch.demo.latency import Arrivals, Latency, between, latencies, p99, strip


def arrivals(*records: tuple[int, int, float]) -> Arrivals:
    noted = Arrivals()
    for partition, offset, moment in records:
        noted.note(partition, offset, moment)
    return noted


def test_a_record_waits_for_the_first_commit_that_ends_after_its_offset() -> None:
    came = arrivals((0, 9, 100.0), (0, 10, 101.0), (1, 3, 100.5))
    commits = {0: [(10, 102.0), (20, 105.0)], 1: [(4, 101.0)]}

    assert latencies(came, commits) == [Latency(100.0, 2.0), Latency(100.5, 0.5), Latency(101.0, 4.0)]


def test_a_record_that_no_commit_contains_has_no_latency() -> None:
    came = arrivals((0, 9, 100.0), (0, 10, 101.0), (2, 0, 101.0))

    assert latencies(came, {0: [(10, 102.0)]}) == [Latency(100.0, 2.0)]


def test_only_arrivals_within_the_phase_count() -> None:
    measured = [Latency(moment, 1.0) for moment in (9.9, 10.0, 19.9, 20.0)]

    assert [each.arrived for each in between(measured, 10.0, 20.0)] == [10.0, 19.9]


def test_the_99th_percentile_is_near_the_largest() -> None:
    assert p99([Latency(float(n), float(n)) for n in range(101)]) == pytest.approx(99.0)


def test_one_latency_has_no_99th_percentile() -> None:
    with pytest.raises(ValueError, match="1 latencies"):
        p99([Latency(0.0, 1.0)])


def test_a_strip_shows_the_longest_latency_of_each_second() -> None:
    measured = [
        Latency(100.1, 0.1),
        Latency(100.2, 4.0),
        Latency(102.0, 8.0),
        Latency(103.5, 99.0),
        Latency(104.0, 1.0),
    ]

    assert strip(measured, 100.0, 104.0, top=8.0) == "▅ ██"
