"""Replaying all that came after a state of the table: the corners (test_forward.py has how a state is chosen)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.plan.world import HOUR, JUNE, NO_LIVE, World, hourly

from anabranch.plan.offsets.completeness import Proof
from anabranch.plan.offsets.ranges import EndsBy
from anabranch.plan.plan import Plan
from anabranch.plan.planner import Planned
from anabranch.plan.ports import LiveHistory
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.slices import ranges_of
from anabranch.plan.strategies.start_snapshots import StartSnapshot, TableSnapshot
from anabranch.plan.target_range import WholeTable
from anabranch.runs.heads import Head

LOGS = (hourly(20), hourly(20))
LIVE = LiveHistory({0: 400, 1: 300}, 9, True, frozenset(), 0)
UPSERT = {"class": "upsert"}
SINCE = {"eventTime": {"from": "2025-06-01T00:00:00Z"}}
DAMAGE = 5 * 24 - 1
"""The first offset that may hold an event since June, with one slack of an hour before it."""


def state(snapshot: int, position: dict[int, int], topic: str = "u1") -> TableSnapshot:
    return TableSnapshot(Head(str(snapshot)), None, topic, position, None, JUNE - timedelta(days=1))


def planned(world: World, *states: TableSnapshot, live: LiveHistory = LIVE, **given: Any) -> Planned:
    request = {"range": SINCE, **given}
    since = None if "sinceSnapshot" in request["range"] else JUNE
    target = {"partitions": WholeTable(None, since), "live": live, "states": states}
    return world.plan(request.pop("logs", LOGS), target=target, pipe=UPSERT, **request)


def plan(world: World, *states: TableSnapshot, **given: Any) -> Plan:
    return planned(world, *states, **given).plan


def test_slices_have_each_offset_of_the_ranges_once(world: World) -> None:
    found = plan(world, state(7, {0: 10, 1: 20}))
    assert ranges_of(found.slices) == found.source.ranges == {0: ((10, 400),), 1: ((20, 300),)}
    assert sum(each.width for each in found.slices) == 390 + 280


def test_a_partition_that_the_state_has_never_read_is_read_from_its_beginning(world: World) -> None:
    found = plan(world, state(7, {0: DAMAGE}))
    assert found.source.ranges == {0: ((DAMAGE, 400),), 1: ((0, 300),)}


def test_a_partition_that_live_has_not_gone_on_in_is_not_read(world: World) -> None:
    still = LiveHistory({0: 400, 1: 50}, 9, True, frozenset(), 0)
    found = plan(world, state(7, {0: DAMAGE, 1: 50}), live=still)
    assert found.source.ranges == {0: ((DAMAGE, 400),)}
    assert found.state == StartSnapshot(Head("7"), {0: DAMAGE, 1: 50})


def test_it_ends_where_live_stands_and_with_nothing_left_out_if_it_begins_at_nothing(world: World) -> None:
    from_state, from_nothing = planned(world, state(7, {0: 10, 1: 10})), planned(world)
    assert set(from_nothing.plan.source.proof.values()) == {Proof.WHOLE}
    assert set(from_state.plan.source.proof.values()) == {Proof.SLACK}, "by which the state was found to be good"
    assert set(from_state.estimates.ends.values()) == {EndsBy.LIVE}


def test_without_a_live_writer_all_of_the_topic_is_replayed(world: World) -> None:
    target = {"partitions": WholeTable(None, JUNE), "live": NO_LIVE}
    found = world.plan(LOGS, target=target, pipe=UPSERT, range=SINCE, live="none").plan
    assert found.source.ranges == {0: ((0, 480),), 1: ((0, 480),)}
    assert found.source.live == {}


def test_a_state_of_the_snapshot_that_was_named_must_be_of_this_topic(world: World) -> None:
    named = {"range": {"sinceSnapshot": 7}}
    assert plan(world, state(7, {0: 10, 1: 20}), **named).state == StartSnapshot(Head("7"), {0: 10, 1: 20})
    with pytest.raises(PlanRefusedError) as refused:
        plan(world, state(7, {0: 10}, topic="former"), state(8, {0: 10}), **named)
    assert (refused.value.code, refused.value.fields["snapshot"]) == ("plan.state-unknown", "7")


def test_a_state_that_was_named_may_hold_the_damage(world: World) -> None:
    """Whoever names a snapshot knows better than event times do."""
    late = {0: DAMAGE + 50, 1: DAMAGE + 50}
    assert plan(world, state(7, late), range={"sinceSnapshot": 7}).state == StartSnapshot(Head("7"), late)
    assert plan(world, state(7, late)).state == StartSnapshot(None, {})


def test_damage_that_live_has_not_reached_in_one_partition_counts_in_the_other(world: World) -> None:
    half = LiveHistory({0: 400, 1: 10}, 9, True, frozenset(), 0)
    found = plan(world, state(7, {0: DAMAGE, 1: 10}), live=half)
    assert found.source.ranges == {0: ((DAMAGE, 400),)}


def test_the_damage_begins_one_slack_before_the_first_moment(world: World) -> None:
    for hours, start in ((0, DAMAGE), (5, DAMAGE + 5)):
        since = {"eventTime": {"from": (JUNE + hours * HOUR).strftime("%Y-%m-%dT%H:%M:%SZ")}}
        target = {"partitions": WholeTable(None, JUNE + hours * HOUR), "live": LIVE}
        good, bad = state(8, {0: start, 1: start}), state(9, {0: start + 1, 1: start})
        found = world.plan(LOGS, target={**target, "states": (bad, good)}, pipe=UPSERT, range=since).plan
        assert found.state == StartSnapshot(Head("8"), {0: start, 1: start})
