"""Every reason to refuse a plan, each from a world that differs in one thing from one that can be planned."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.plan.world import HOUR, JUNE, NOW, SETTINGS, Log, World, hourly

from anabranch.errors import ExitCode
from anabranch.plan.ports import LiveHistory
from anabranch.plan.refusals import PlanRefusedError
from anabranch.runs.heads import Head

LOGS = [hourly(20), hourly(20)]
DAY = timedelta(days=1)


def live(ends: dict[int, int], *, complete: bool = True, others: tuple[str, ...] = (), foreign: int = 0) -> LiveHistory:
    return LiveHistory(ends, 3, complete, frozenset(others), foreign)


def refused(world: World, **arguments: Any) -> PlanRefusedError:
    arguments.setdefault("logs", LOGS)
    with pytest.raises(PlanRefusedError) as caught:
        world.plan(**arguments)
    assert caught.value.exit_code is ExitCode.REFUSED
    assert caught.value.remedy
    return caught.value


def test_a_good_world_can_be_planned(world: World) -> None:
    """The range's two days, an hour of slack before and two after it, of each partition."""
    plan = world.plan(LOGS).plan
    assert plan.source.ranges == {0: ((119, 170),), 1: ((119, 170),)}
    assert plan.source.live == {0: 480, 1: 480}
    assert (plan.target.base, plan.target.files, plan.target.rows) == (Head("7"), 2, 48)
    assert sum(slice_.width for slice_ in plan.slices) == 102


def test_a_range_is_widened_to_whole_partitions(world: World) -> None:
    asked = {"eventTime": {"from": "2025-06-01T13:00:00Z", "to": "2025-06-02T00:00:01Z"}}
    target = world.plan(LOGS, range=asked).plan.target
    assert (target.partitions.start, target.partitions.end) == (JUNE, JUNE + 2 * DAY)
    assert target.requested_start == JUNE + 13 * HOUR


def test_everything_is_the_whole_topic(world: World) -> None:
    plan = world.plan(LOGS, range={"everything": True}).plan
    assert plan.source.ranges == {0: ((0, 480),), 1: ((0, 480),)}
    assert plan.target.requested_start is None


def test_windows_need_an_end_as_time_partitions_do(world: World) -> None:
    windowed = {"class": "windowed", "window": {"kind": "tumbling", "size": "1h", "lateness": "10m"}}
    error = refused(world, pipe=windowed, range={"eventTime": {"from": "2025-06-01T00:00:00Z"}})
    assert error.code == "plan.range-not-closed"
    assert "belongs to the partition" in error.what


@pytest.mark.parametrize(
    ("way", "written"),
    [
        ({"timestamps": {"from": "2025-06-01T00:00:00Z", "to": "2025-06-02T00:00:00Z"}}, "from: 2025-06-01T00:00:00Z"),
        ({"offsets": {"0": {"from": 0, "to": 10}}}, "eventTime"),
        ({"sinceSnapshot": 7}, "eventTime"),
    ],
)
def test_a_range_that_is_not_of_event_time_is_refused(world: World, way: dict[str, Any], written: str) -> None:
    error = refused(world, range=way)
    assert error.code == "plan.range-not-by-event-time"
    assert written in error.remedy


def test_a_range_in_the_future_is_refused(world: World) -> None:
    assert refused(world, now=JUNE - DAY).code == "plan.range-in-the-future"
    far = {"eventTime": {"from": "2025-06-01T00:00:00Z", "to": "9999-12-31T23:59:59Z"}}
    assert refused(world, range=far).code == "plan.range-in-the-future"


def test_a_range_that_is_not_over_is_planned_with_a_caution(world: World) -> None:
    planned = world.plan(LOGS, now=JUNE + HOUR)
    assert "range-not-over" in {each.code for each in planned.estimates.cautions}


def test_a_deadline_that_has_passed_is_refused(world: World) -> None:
    assert refused(world, schedule={"deadline": "2025-06-30T00:00:00Z"}).code == "plan.deadline-passed"


def test_a_table_without_a_snapshot_is_refused(world: World) -> None:
    assert refused(world, target={"base": None}).code == "plan.target-empty"


def test_a_table_that_another_pipeline_writes_is_refused(world: World) -> None:
    error = refused(world, target={"live": live({0: 480, 1: 480}, others=("refunds",))})
    assert error.code == "plan.shared-target"
    assert "refunds" in error.what


def test_columns_the_table_does_not_have_are_refused(world: World) -> None:
    error = refused(world, validation={"notNull": ["order_ids"]})
    assert error.code == "plan.column-unknown"
    assert error.remedy == "write order_id"
    assert refused(world, target={"columns": ("ordered_at",)}).code == "plan.column-unknown"


def test_partitions_must_be_there_and_must_be_all(world: World) -> None:
    assert refused(world, partitions=[0, 1, 7]).fields["unknown"] == [7]
    some = refused(world, partitions=[1])
    assert (some.code, some.fields["left_out"]) == ("plan.some-partitions", [0])
    assert world.plan(LOGS, partitions=[1, 0]).plan.source.ranges.keys() == {0, 1}


def test_a_start_that_retention_has_passed_is_refused_with_what_is_left(world: World) -> None:
    error = refused(world, logs=[hourly(20), Log(hourly(20).records, gone=130)])
    assert error.code == "plan.retention-passed"
    assert "offsets 0 to 129 of partition 1" in error.what
    assert error.fields["missing"] == {"1": [0, 130]}
    assert "from: 2025-06-02T00:00:00Z" in error.remedy


def test_what_is_said_to_be_left_can_really_be_planned(world: World) -> None:
    logs = [hourly(20), Log(hourly(20).records, gone=130)]
    left = {"eventTime": {"from": "2025-06-02T00:00:00Z", "to": "2025-06-03T00:00:00Z"}}
    assert world.plan(logs, range=left).plan.source.ranges.keys() == {0, 1}


def test_retention_before_the_range_is_no_matter(world: World) -> None:
    assert world.plan([Log(hourly(20).records, gone=50)]).plan.source.ranges == {0: ((119, 170),)}


def test_everything_is_refused_when_the_topic_has_lost_its_beginning(world: World) -> None:
    error = refused(world, logs=[Log(hourly(20).records, gone=1)], range={"everything": True})
    assert error.code == "plan.retention-passed"
    assert "everything" in error.what


def test_a_partition_of_which_nothing_is_left_is_refused(world: World) -> None:
    error = refused(world, logs=[hourly(20), Log(hourly(20).records, gone=480)])
    assert error.code == "plan.retention-passed"
    assert "archive" in error.remedy


def test_a_range_without_records_is_refused(world: World) -> None:
    assert refused(world, logs=[hourly(1)]).code == "plan.empty-range"


def test_a_range_that_live_has_not_written_yet_is_refused(world: World) -> None:
    error = refused(world, target={"live": live({0: 10, 1: 20})})
    assert error.code == "plan.empty-range"
    assert "live has not yet written" in error.what


def test_live_caps_each_partition(world: World) -> None:
    plan = world.plan(LOGS, target={"live": live({0: 150, 1: 480})}).plan
    assert plan.source.ranges == {0: ((119, 150),), 1: ((119, 170),)}
    assert plan.source.live == {0: 150, 1: 480}


def test_a_partition_that_live_never_read_is_live_s_to_write(world: World) -> None:
    plan = world.plan(LOGS, target={"live": live({0: 480})}).plan
    assert plan.source.ranges == {0: ((119, 170),)}
    assert plan.source.live == {0: 480, 1: 0}


@pytest.mark.parametrize("ends", [{0: 481, 1: 480}, {0: 480, 1: 480, 2: 1}])
def test_live_beyond_the_topic_means_another_topic(world: World, ends: dict[int, int]) -> None:
    assert refused(world, target={"live": live(ends)}).code == "plan.live-ahead"


def test_planning_again_with_nothing_changed_gives_the_same_hash_at_another_time(world: World) -> None:
    assert world.plan(LOGS).plan.hash == world.plan(LOGS, now=NOW + 30 * DAY).plan.hash


@pytest.mark.parametrize(
    "change",
    [
        {"code": "c2"},
        {"source": {"uuid": "u2"}},
        {"target": {"base": Head("8")}},
        {"target": {"schema": "s2"}},
        {"target": {"live": live({0: 150, 1: 480})}},
        {"reason": "another reason"},
        {"expect": {"rows": 4}},
        {"logs": [hourly(20)]},
        {"source": {"settings": None}},
    ],
)
def test_any_pinned_change_gives_another_hash(world: World, change: dict[str, Any]) -> None:
    assert world.plan(**{"logs": LOGS, **change}).plan.hash != world.plan(LOGS).plan.hash


def test_what_only_changes_with_every_look_is_not_hashed(world: World) -> None:
    from dataclasses import replace

    changed = replace(SETTINGS, retention_ms=10**12)
    assert world.plan(LOGS, source={"settings": changed, "transactional": True}).plan.hash == world.plan(LOGS).plan.hash
