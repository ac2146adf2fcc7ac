"""What is shown beside a plan: sizes, headroom and cautions."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.plan.world import HOUR, JUNE, NOW, SETTINGS, Log, Record, World, hourly, milliseconds

from anabranch.plan.ports import LiveHistory, TopicSettings

LOGS = [hourly(20)]
LIVE = LiveHistory({0: 480}, 3, True, frozenset(), 0)


def cautions(world: World, logs: list[Log] | None = None, **arguments: Any) -> set[str]:
    arguments = {"target": {"live": LIVE}, **arguments}
    return {each.code for each in world.plan(logs or LOGS, **arguments).estimates.cautions}


def kept(retention: timedelta) -> TopicSettings:
    return replace(SETTINGS, retention_ms=retention // timedelta(milliseconds=1))


def test_nothing_to_worry_about(world: World) -> None:
    assert cautions(world) == set()


def test_sizes_are_the_share_of_the_partition_that_is_read(world: World) -> None:
    estimates = world.plan(LOGS, target={"live": LIVE}, budget={"bytesPerSecond": 100}).estimates
    assert (estimates.offsets, estimates.bytes) == (51, 5100)
    assert estimates.duration == timedelta(seconds=51)


def test_headroom_is_what_retention_leaves_to_the_first_record(world: World) -> None:
    """The first record read is of an hour before June; kept 31 days, it goes an hour before NOW."""
    estimates = world.plan(LOGS, source={"settings": kept(timedelta(days=40))}).estimates
    assert estimates.headroom == JUNE - HOUR + timedelta(days=40) - NOW


@pytest.mark.parametrize(
    ("retention", "warned"),
    [(timedelta(days=30), True), (timedelta(days=30, hours=1, minutes=30), True), (timedelta(days=31), False)],
)
def test_little_headroom_is_told(world: World, retention: timedelta, warned: bool) -> None:
    assert ("retention-near" in cautions(world, source={"settings": kept(retention)})) is warned


def test_headroom_is_held_against_the_time_it_takes(world: World) -> None:
    source, slow = {"settings": kept(timedelta(days=31))}, {"bytesPerSecond": 1}
    many = [Log([Record(r.timestamp, r.event) for r in hourly(20).records for _ in range(200)])]
    live = {"live": replace(LIVE, ends={0: 480 * 200})}
    assert "retention-near" not in cautions(world, many, source=source, target=live)
    assert "retention-near" in cautions(world, many, source=source, target=live, budget=slow)


def test_kept_for_ever_has_no_headroom_to_run_out_of(world: World) -> None:
    assert world.plan(LOGS).estimates.headroom is None


def test_cautions_of_the_topic(world: World) -> None:
    compacted = replace(SETTINGS, cleanup=frozenset({"compact"}))
    assert cautions(world, source={"settings": compacted}) == {"compacted"}
    assert cautions(world, source={"settings": None}) == {"settings-unknown"}
    assert cautions(world, source={"settings": replace(SETTINGS, retention_bytes=1)}) == {"retention-by-size"}


def test_timestamps_out_of_order_are_told(world: World) -> None:
    records = list(hourly(20).records)
    records.insert(130, Record(milliseconds(NOW), JUNE))
    target = {"live": replace(LIVE, ends={0: 481})}
    assert cautions(world, [Log(records)], target=target) == {"timestamps-out-of-order"}


def test_cautions_of_the_table(world: World) -> None:
    assert cautions(world, target={}, live="none") == {"no-live-writer"}
    assert cautions(world, target={"live": replace(LIVE, foreign=2)}) == {"foreign-commits"}
    other = {"eventTime": {"field": "_timestamp", "slack": "1h"}}
    assert cautions(world, pipe=other) == {"other-time-column"}


def test_a_deadline_that_can_t_be_kept_is_told(world: World) -> None:
    schedule, slow = {"deadline": "2025-07-01T01:00:00Z"}, {"bytesPerSecond": 1}
    assert cautions(world, schedule=schedule, budget=slow) == {"deadline-near"}
    assert cautions(world, schedule=schedule, budget={"bytesPerSecond": 1000}) == set()


def test_the_document_is_plain_and_says_unknown(world: World) -> None:
    document = world.plan(LOGS, source={"settings": None}).estimates.document()
    assert document["transactional"] == "unknown"
    assert document["topic"] is None
    assert document["ends_by"] == {"0": "time"}
