"""Live's lag and drain rate, by the position that is known."""

from datetime import datetime, timedelta, timezone

from anabranch.monitoring.live_samples import (
    KafkaReading,
    PositionReading,
    TablesReading,
    TableState,
    TopicReading,
    drain_rate,
    live_positions,
    live_samples,
    table_samples,
)

NOW = datetime(2025, 6, 1, tzinfo=timezone.utc)
ENDS = {0: 100, 1: 50}


def kafka(group: dict[int, int]) -> KafkaReading:
    return KafkaReading(10.0, {"orders": TopicReading(ENDS, group)})


def tables(ends: dict[int, int]) -> TablesReading:
    return TablesReading(NOW, {"shop.orders": TableState(7, 3, {"orders": ends}, {"orders": NOW - timedelta(hours=1)})})


def test_the_group_tells_the_position_before_the_tables_commits_do() -> None:
    assert live_positions(kafka({0: 90, 1: 50}), tables({0: 1, 1: 1}))["orders"].lag == 10
    assert live_positions(kafka({}), tables({0: 60, 1: 50}))["orders"].lag == 40


def test_a_lag_is_absent_where_neither_tells_the_position() -> None:
    assert live_positions(kafka({}), None) == {}
    assert live_positions(kafka({}), tables({})) == {}


def test_a_partition_without_a_position_or_an_end_does_not_count() -> None:
    assert PositionReading(0, {0: 90, 9: 5}, ENDS).lag == 10
    assert PositionReading(0, {0: 120}, ENDS).lag == 0


def test_the_drain_rate_needs_two_readings_that_go_forward() -> None:
    before, now = PositionReading(10, {0: 40, 1: 10}, ENDS), PositionReading(15, {0: 80, 1: 20, 2: 999}, ENDS)
    assert drain_rate(before, now) == 10
    assert drain_rate(now, now) is None
    assert drain_rate(PositionReading(10, {0: 90, 1: 90}, ENDS), now) is None
    assert drain_rate(PositionReading(10, {5: 0}, ENDS), now) is None
    found = {s.metric.suffix: s.value for s in live_samples({"orders": now}, {"orders": before})}
    assert found == {"live_lag_records": 50, "drain_rate_records_per_second": 10}
    first = {s.metric.suffix: s.value for s in live_samples({"orders": now}, {})}
    assert first["drain_rate_records_per_second"] is None


def test_a_table() -> None:
    found = {(s.metric.suffix, *s.labels): s.value for s in table_samples(tables({}))}
    assert found == {
        ("table_files", "shop.orders"): 7,
        ("table_snapshots", "shop.orders"): 3,
        ("live_freshness_seconds", "orders"): 3600,
    }
