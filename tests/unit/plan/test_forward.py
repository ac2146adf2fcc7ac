"""Plans of the whole table: which state they start from, and what is refused with its reason."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.plan.world import HOUR, JUNE, Log, World, hourly

from anabranch.plan.plan import Plan, read_plan
from anabranch.plan.ports import LiveHistory, TopicSettings
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.steps import StageFromSnapshot, describe, steps_of
from anabranch.plan.strategies.start_snapshots import StartSnapshot, TableSnapshot, last_good
from anabranch.plan.strategies.strategy import Strategy
from anabranch.plan.target_range import WholeTable
from anabranch.runs.heads import Head

START = JUNE - timedelta(days=5)
LOGS = (hourly(20), hourly(20))
LIVE = LiveHistory({0: 400, 1: 300}, 9, True, frozenset(), 0)
UPSERT = {"class": "upsert"}
ORDERED = {
    "class": "ordered",
    "target": {"table": "shop.orders", "keys": ["order_id"], "schema": {"order_id": "string"}},
}
SINCE = {"eventTime": {"from": "2025-06-01T00:00:00Z"}}
DAMAGE = (JUNE - START) // HOUR - 1
"""With one slack of an hour before the range."""


def state(snapshot: int, *position: int, topic: str = "u1") -> TableSnapshot:
    return TableSnapshot(Head(str(snapshot)), None, topic, dict(enumerate(position)), None, JUNE)


def plan(world: World, *, states: tuple[TableSnapshot, ...] = (), pipe: dict[str, Any] = UPSERT, **given: Any) -> Plan:
    request = {"range": SINCE, **given}
    since = None if "everything" in request["range"] or "sinceSnapshot" in request["range"] else JUNE
    target = {"partitions": WholeTable(None, since), "live": LIVE, "states": states, **request.pop("target", {})}
    return world.plan(request.pop("logs", LOGS), target=target, pipe=pipe, **request).plan


def refused(world: World, **given: Any) -> PlanRefusedError:
    with pytest.raises(PlanRefusedError) as error:
        plan(world, **given)
    return error.value


def test_it_starts_from_the_newest_state_before_the_damage_and_ends_where_live_stands(world: World) -> None:
    states = (state(9, 300, 300), state(8, DAMAGE + 1, 50), state(7, DAMAGE, DAMAGE), state(6, 10, 10))
    made = plan(world, states=states)
    assert made.strategy is Strategy.MERGE_FORWARD
    assert made.state == StartSnapshot(Head("7"), {0: DAMAGE, 1: DAMAGE})
    assert made.source.ranges == {0: ((DAMAGE, 400),), 1: ((DAMAGE, 300),)}
    assert (made.staging_base, made.replaced_range) == (Head("7"), None)
    assert StageFromSnapshot("shop.orders", Head("7")) in steps_of(made)
    assert read_plan(made.document()) == made
    assert "lease all of" in describe(steps_of(made)[0])


def test_with_no_state_it_starts_from_nothing(world: World) -> None:
    for states in ((), (state(9, 300, 300),), (state(7, 10, 10, topic="former topic"),)):
        made = plan(world, states=states)
        assert made.state == StartSnapshot(None, {})
        assert made.source.ranges == {0: ((0, 400),), 1: ((0, 300),)}
        assert made.staging_base == made.target.base
        assert made.replaced_range == made.target.partitions
        assert read_plan(made.document()) == made


def test_a_compacted_topic_is_its_own_state_and_no_order(world: World) -> None:
    compacted = {"settings": TopicSettings(frozenset({"compact"}), None, None, "CreateTime")}
    assert plan(world, states=(state(7, 10, 10),), source=compacted).state == StartSnapshot(None, {})
    error = refused(world, states=(state(7, 10, 10),), source=compacted, pipe=ORDERED)
    assert error.code == "plan.compacted-order"


def test_everything_starts_from_nothing_and_a_snapshot_can_be_named(world: World) -> None:
    states = (state(7, 10, 10),)
    assert plan(world, states=states, range={"everything": True}).state == StartSnapshot(None, {})
    named = plan(world, states=states, range={"sinceSnapshot": 7})
    assert named.source.ranges == {0: ((10, 400),), 1: ((10, 300),)}
    assert refused(world, states=states, range={"sinceSnapshot": 8}).code == "plan.state-unknown"


def test_what_retention_has_taken_since_the_start_is_refused(world: World) -> None:
    short = (Log(LOGS[0].records, gone=60), LOGS[1])
    assert refused(world, logs=short).fields["missing"] == {"0": [0, 60]}
    assert refused(world, logs=short, states=(state(7, 59, 0),)).fields["missing"] == {"0": [59, 60]}
    assert plan(world, logs=short, states=(state(7, 60, 0),)).state == StartSnapshot(Head("7"), {0: 60, 1: 0})


def test_a_closed_range_of_an_order_is_refused_and_one_of_keys_is_told_where_it_ends(world: World) -> None:
    closed = {"eventTime": {"from": "2025-06-01T00:00:00Z", "to": "2025-06-02T00:00:00Z"}}
    error = refused(world, pipe=ORDERED, range=closed)
    assert error.code == "plan.range-closed"
    assert "from: 2025-06-01T00:00:00Z" in error.remedy
    planned = world.plan(LOGS, target={"partitions": WholeTable(None, JUNE), "live": LIVE}, pipe=UPSERT, range=closed)
    assert "merged-to-live" in {each.code for each in planned.estimates.cautions}
    assert plan(world, pipe=ORDERED).strategy is Strategy.RERUN_TAIL


def test_an_open_range_of_a_stateless_pipeline_is_refused(world: World) -> None:
    with pytest.raises(PlanRefusedError) as error:
        world.request(range=SINCE)
    assert error.value.code == "plan.range-not-closed"


def test_ranges_by_offsets_say_nothing_of_keys(world: World) -> None:
    error = refused(world, range={"offsets": {"0": {"from": 0, "to": 10}}})
    assert error.code == "plan.range-not-by-event-time"
    assert "sinceSnapshot" in error.remedy


def test_a_table_that_live_has_not_written_and_damage_it_has_not_reached_are_refused(world: World) -> None:
    nobody = LiveHistory({}, 0, True, frozenset(), 0)
    assert refused(world, target={"live": nobody}).code == "plan.live-position-unknown"
    early = LiveHistory({0: 10, 1: 10}, 1, True, frozenset(), 0)
    assert refused(world, target={"live": early}, states=(state(7, 10, 10),)).code == "plan.undamaged"


positions = st.dictionaries(st.integers(0, 3), st.integers(0, 9))


@given(st.lists(positions, max_size=6), positions)
def test_the_last_good_state_is_the_newest_that_holds_no_damage(
    history: list[dict[int, int]], damage: dict[int, int]
) -> None:
    states = [TableSnapshot(Head(str(n)), None, "t", p, None, datetime.min) for n, p in enumerate(history)]
    good = [
        s
        for s in states
        if not any(offset >= damage.get(p, 0) for p, end in s.position.items() for offset in range(end))
    ]
    assert last_good(states, "t", damage) == (good[0] if good else None)
    assert last_good(states, "another", damage) is None
