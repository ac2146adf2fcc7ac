"""When records arrived, by looks at the log's ends."""

import pytest

from anabranch.replay.log_history import MOST, LogHistory


def looked(*ends: int, every: float = 1.0) -> LogHistory:
    history = LogHistory()
    for number, end in enumerate(ends):
        history.look(number * every, {0: end})
    return history


def test_records_of_one_growth_arrived_evenly_in_it() -> None:
    history = looked(100, 200, 300)
    assert history.arrived(0, 150) == pytest.approx(0.505)
    assert history.arrived(0, 299) == pytest.approx(1.995)


def test_records_from_before_the_first_look_and_after_the_last_are_unknown() -> None:
    history = looked(100, 200)
    assert history.arrived(0, 99) is None
    assert history.arrived(0, 200) is None


def test_a_quiet_log_does_not_date_the_next_record_back() -> None:
    assert looked(100, 100, 100, 101).arrived(0, 100) == pytest.approx(2.5)


def test_latencies_are_those_of_each_growth_in_a_commit() -> None:
    history = looked(0, 10, 20, 30)
    assert list(history.latencies(0, 0, 20, 5.0)) == pytest.approx([4.5, 3.5])
    assert list(history.latencies(0, 15, 30, 5.0)) == pytest.approx([3.25, 2.5])


def test_lag_in_seconds_is_the_age_of_the_oldest_record_that_is_not_written() -> None:
    history = looked(0, 10, 20, 30)
    assert history.lag_seconds({0: 10}, 3.0) == pytest.approx(1.95)
    assert history.lag_seconds({0: 30}, 3.0) == 0.0
    assert history.lag({0: 10}) == 20


def test_a_lag_from_before_the_first_look_is_estimated_by_the_rate_of_arrivals() -> None:
    history = looked(1000, 1010, 1020)
    assert history.lag_seconds({0: 0}, 2.0) == pytest.approx(102)
    assert looked(1000, 1000, 1000).lag_seconds({0: 0}, 2.0) == 2.0


def test_a_partition_that_live_recorded_no_position_of_counts_from_the_first_look() -> None:
    assert looked(1000, 1010).lag({}) == 10


def test_a_partition_that_is_new_counts_from_0() -> None:
    history = looked(1000)
    history.look(1.0, {0: 1000, 1: 7})
    assert history.lag({0: 1000}) == 7
    assert history.arrived(1, 3) == pytest.approx(0.5)


def test_a_long_history_is_joined_and_stays_right() -> None:
    history = looked(*range(0, 30 * MOST, 10))
    for offset in (0, 12345, 30 * MOST - 25):
        came = history.arrived(0, offset)
        assert came is not None
        assert came == pytest.approx((offset + 0.5) / 10, abs=8)


def test_many_partitions_share_what_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anabranch.replay.log_history.TOGETHER", 800)
    history = LogHistory()
    for at in range(1000):
        history.look(float(at), dict.fromkeys(range(10), 10 * at))
    assert all(len(each) <= 80 for each in history._growths.values())
    for offset in (0, 4321, 9970):
        came = history.arrived(3, offset)
        assert came is not None
        assert came == pytest.approx((offset + 0.5) / 10, abs=8)
