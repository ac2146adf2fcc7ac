"""What is told from a rehearsal: the line through its slices, and the time of a longer range."""

from __future__ import annotations

import pytest
from tests.unit.plan.rehearsal import MEASURED, measured

from anabranch.plan.forecast.rehearsed import bottleneck, fit, read_rehearsed
from anabranch.plan.slices import Slice, cut


def slices(count: int, width: int) -> tuple[Slice, ...]:
    return cut({0: ((0, count * width),)}, width)


def test_two_sizes_tell_what_a_slice_takes_however_small() -> None:
    line = fit([(1000, 3.0), (4000, 6.0), (1000, 3.0), (4000, 6.0)])
    assert line.slice_seconds == pytest.approx(2.0)
    assert line.seconds(20_000) == pytest.approx(22.0)


@pytest.mark.parametrize(
    "timed",
    [
        pytest.param([(1000, 2.0), (1000, 2.0)], id="one-size"),
        pytest.param([(1000, 3.0), (4000, 1.0)], id="the-larger-was-faster"),
        pytest.param([(1000, 0.1), (4000, 4.0)], id="begins-below-nothing"),
    ],
)
def test_a_line_that_nobody_would_believe_gives_way_to_the_mean_rate(timed: list[tuple[int, float]]) -> None:
    line = fit(timed)
    assert line.slice_seconds == 0
    records, seconds = sum(r for r, _ in timed), sum(s for _, s in timed)
    assert line.seconds(records) == pytest.approx(seconds)


def test_every_slice_is_paid_for_and_not_only_its_records() -> None:
    assert MEASURED.replay_seconds(slices(20, 1000), None) == pytest.approx(20 * (1.0 + 1.0))
    assert MEASURED.replay_seconds(slices(2, 10_000), None) == pytest.approx(2 * (1.0 + 10.0))


def test_the_contracts_rate_makes_it_slower_and_never_faster() -> None:
    # 1000 records of 100 bytes each in a slice: at 10 kB/s they take 10 s, at 10 MB/s what they take anyhow.
    assert MEASURED.replay_seconds(slices(3, 1000), 10_000) == pytest.approx(30.0)
    assert MEASURED.replay_seconds(slices(3, 1000), 10_000_000) == pytest.approx(6.0)


def test_the_bottleneck_is_the_longest_stage() -> None:
    assert bottleneck(MEASURED.stages) == "decode"
    assert bottleneck({**MEASURED.stages, "commit": 9.0}) == "commit"


def test_as_evidence_it_is_read_back_whole() -> None:
    one = measured(live_lag_with=None, live_latency_with=None)
    assert read_rehearsed({**one.document(), "about": "anything"}) == one
