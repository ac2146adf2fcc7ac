"""What counts as pressure on live, and what live is compared with."""

from __future__ import annotations

import pytest

from anabranch.replay.pressure import Baseline, Pressure, Targets, Tick, Watched, pressures

TARGETS = Targets()
REHEARSED = Watched(rehearsed=Baseline(latency=2.0, source="the rehearsal"))


def seen(watched: Watched, *ticks: Tick) -> Watched:
    for tick in ticks:
        watched = watched.after(tick)
    return watched


def found(watched: Watched, tick: Tick, targets: Targets = TARGETS) -> dict[str, Pressure]:
    return {each.signal: each for each in pressures(watched, tick, targets)}


def took(*seconds: float, **more: float) -> Tick:
    return Tick(latencies=seconds, **more)  # type: ignore[arg-type]


def test_the_target_of_lag_is_10_s() -> None:
    assert found(Watched(), Tick(lag=41.0))["lag"].words == "live lag 41 s, target 10 s"
    assert found(Watched(), Tick(lag=5.0))["lag"].ratio == 0.5


def test_the_target_of_lag_is_twice_the_95th_percentile_without_the_replay() -> None:
    watched = seen(Watched(), *(Tick(lag=8.0, latencies=(8.0,), alone=True) for _ in range(4)))
    assert found(watched, Tick(lag=16.0))["lag"].target == 16.0


def test_at_the_limit_of_lag_the_pressure_is_above_2() -> None:
    watched = seen(Watched(), *(Tick(lag=9.0, latencies=(8.0,), alone=True) for _ in range(4)))
    assert found(watched, Tick(lag=29.0))["lag"].ratio < 2
    assert found(watched, Tick(lag=30.0))["lag"].ratio > 2


def test_the_limits_of_the_pipeline_are_kept_at_a_distance() -> None:
    own = Targets(max_lag_records=1000, max_latency=5.0)
    pressed = found(REHEARSED, Tick(lag=5.0, lag_records=900), own)
    assert pressed["lag"].target == 4.0
    assert pressed["lag"].ratio > 2
    assert pressed["lag_records"].ratio == pytest.approx(900 / 800)
    assert found(REHEARSED, Tick(lag_records=1000), own)["lag_records"].ratio > 2


def test_the_target_of_latency_is_a_quarter_above_that_without_the_replay() -> None:
    watched = seen(REHEARSED, took(3.0), took(3.0))
    assert found(watched, Tick())["latency"].words == "live latency 3 s, target 2.5 s"


def test_one_slow_batch_is_no_alarm_and_two_are() -> None:
    watched = seen(REHEARSED, took(2.0), took(2.0), took(90.0))
    assert found(watched, Tick())["latency"].value == 2.0
    assert found(seen(watched, took(80.0)), Tick())["latency"].value == 80.0


def test_one_commit_is_too_few_to_judge() -> None:
    assert "latency" not in found(seen(REHEARSED, took(90.0)), Tick())


def test_ticks_without_a_commit_change_nothing() -> None:
    watched = seen(REHEARSED, took(3.0), took(3.0), *(Tick() for _ in range(20)))
    assert found(watched, Tick())["latency"].value == 3.0


def test_after_a_reduction_only_later_ticks_count() -> None:
    watched = seen(REHEARSED, took(9.0), took(9.0)).reduced()
    assert "latency" not in found(watched, Tick())
    assert watched.undecided(Tick(lag=1.0))
    assert not watched.undecided(Tick(lag=0.0))
    assert not seen(watched, took(2.0), took(2.0)).undecided(Tick(lag=1.0))


def test_the_baseline_never_grows_under_load() -> None:
    watched = seen(Watched(), *(took(1.0, alone=True) for _ in range(4)), *(took(50.0) for _ in range(100)))
    assert watched.baseline.latency == 1.0
    assert found(watched, Tick())["latency"].target == 1.25


def test_ticks_without_the_replay_come_before_the_rehearsal_and_it_before_those_at_the_start_rate() -> None:
    watched = seen(REHEARSED, *(took(7.0, starting=True) for _ in range(4)))
    assert watched.baseline.source == "the rehearsal"
    assert seen(watched, *(took(1.0, alone=True) for _ in range(3))).baseline.latency == 1.0
    assert seen(Watched(), *(took(7.0, starting=True) for _ in range(3))).baseline.latency == 7.0


def test_without_a_baseline_latency_is_not_judged_unless_the_pipeline_limits_it() -> None:
    watched = seen(Watched(), took(9.0), took(9.0))
    assert "latency" not in found(watched, Tick())
    assert found(watched, Tick(), Targets(max_latency=10.0))["latency"].ratio == pytest.approx(9 / 8)


def test_batches_may_take_80_percent_of_their_interval_or_a_quarter_more_than_usual() -> None:
    quick = seen(Watched(), *(took(1.0, batch_ratio=0.2, alone=True) for _ in range(4)))
    watched = seen(quick, Tick(batch_ratio=0.9), Tick(batch_ratio=0.9))
    assert found(watched, Tick())["batch"].ratio == pytest.approx(0.9 / 0.8)
    assert "batch" not in found(seen(Watched(), Tick(batch_ratio=0.9), Tick(batch_ratio=0.9)), Tick())
    slow = seen(Watched(), *(took(1.0, batch_ratio=1.2, alone=True) for _ in range(4)))
    assert found(slow, Tick())["batch"].target == pytest.approx(1.5)


def test_any_error_of_live_is_critical() -> None:
    assert found(Watched(), Tick(errors=1))["errors"].ratio > 2


def test_metrics_of_the_brokers_count_as_they_are() -> None:
    assert found(Watched(), Tick(brokers={"idle": 1.4}))["broker idle"].ratio == 1.4


def test_the_highest_pressure_comes_first() -> None:
    watched = seen(REHEARSED, took(3.0), took(3.0))
    assert [each.signal for each in pressures(watched, Tick(lag=40.0), TARGETS)] == ["lag", "latency"]
