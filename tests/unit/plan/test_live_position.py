"""A table whose live position is unknown is refused in every class, unless nothing writes to it or nothing is read."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.plan.test_forward import ORDERED, SINCE, UPSERT
from tests.unit.plan.test_forward import state as kept_state
from tests.unit.plan.world import JUNE, NO_LIVE, Log, Record, World, hourly, milliseconds

from anabranch.plan.live_position import LivePositionKnownError, LivePositionUnknownError
from anabranch.plan.plan import Plan, read_plan
from anabranch.plan.planner import EmptyRangeError
from anabranch.plan.ports import LiveHistory
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.request import contract_hash
from anabranch.plan.strategies.start_snapshots import StartSnapshot
from anabranch.plan.strategies.stream_start import NoStreamStartError
from anabranch.plan.target_range import WholeTable

LOGS = [hourly(20), hourly(20)]
FOREIGN = LiveHistory({}, 0, True, frozenset(), 3)
"""Three commits of a plain writer, and the whole history of the table."""
EXPIRED = LiveHistory({}, 0, False, frozenset(), 0)
"""Whatever live has committed has expired; a promotion may be left."""
WINDOWED = {"class": "windowed", "window": {"kind": "tumbling", "size": "1h", "lateness": "10m"}}
OPEN = {"range": SINCE, "target": {"partitions": WholeTable(None, JUNE)}}
CLASSES: dict[str, dict[str, Any]] = {
    "stateless": {},
    "upsert": {"pipe": UPSERT, **OPEN},
    "ordered": {"pipe": ORDERED, **OPEN},
    "windowed": {"pipe": WINDOWED},
    "as a stream": {"pipe": WINDOWED, "strategy": "stream-faithful"},
}


def plan(world: World, history: LiveHistory, logs: list[Log] = LOGS, **given: Any) -> Plan:
    target = {"live": history, **given.pop("target", {})}
    return world.plan(logs, target=target, **given).plan


@pytest.mark.parametrize("given", CLASSES.values(), ids=CLASSES)
@pytest.mark.parametrize("live", [FOREIGN, EXPIRED, NO_LIVE], ids=["another writer", "expired", "promotions only"])
def test_an_unknown_position_is_refused_in_every_class(world: World, given: dict[str, Any], live: LiveHistory) -> None:
    with pytest.raises(LivePositionUnknownError, match=r"no snapshot of shop\.orders records offsets") as refused:
        plan(world, live, **given)
    assert refused.value.code == "plan.live-position-unknown"
    assert "`live: none`" in refused.value.remedy
    assert ("(3 by another writer)" in refused.value.what) == bool(live.foreign)
    assert ("older ones have expired" in refused.value.what) == (not live.complete)


def test_without_a_writer_the_topic_is_read_to_its_end_and_the_plan_says_so(world: World) -> None:
    made = plan(world, FOREIGN, live="none")
    assert made.source.ranges == {0: ((119, 170),), 1: ((119, 170),)}
    assert (made.source.live, made.target.no_live_writer) == ({}, True)
    assert read_plan(made.document()) == made


@pytest.mark.parametrize("kind", ["upsert", "ordered"])
def test_without_a_writer_the_whole_table_is_replayed_from_the_beginning_to_the_end(world: World, kind: str) -> None:
    made = plan(world, FOREIGN, live="none", **CLASSES[kind])
    assert made.source.ranges == {0: ((0, 480),), 1: ((0, 480),)}
    assert (made.state, made.source.live) == (StartSnapshot(None, {}), {})


def test_a_kept_state_of_a_live_that_is_gone_is_still_a_start(world: World) -> None:
    target = {"partitions": WholeTable(None, JUNE), "states": (kept_state(6, 10, 20),)}
    made = plan(world, EXPIRED, live="none", pipe=UPSERT, range=SINCE, target=target)
    assert made.source.ranges == {0: ((10, 480),), 1: ((20, 480),)}


def test_without_a_writer_every_window_is_closed_and_only_live_s_own_batches_are_missing(world: World) -> None:
    made = plan(world, FOREIGN, live="none", pipe=WINDOWED)
    assert made.source.ranges == {0: ((119, 170),), 1: ((119, 170),)}
    with pytest.raises(NoStreamStartError):
        plan(world, FOREIGN, live="none", **CLASSES["as a stream"])


@pytest.mark.parametrize("given", CLASSES.values(), ids=CLASSES)
def test_a_table_with_live_s_commits_has_a_live_writer(world: World, given: dict[str, Any]) -> None:
    ours = LiveHistory({0: 480, 1: 480}, 2, True, frozenset(), 0, watermark=milliseconds(JUNE) * 2)
    with pytest.raises(LivePositionKnownError, match=r"2 snapshots of shop\.orders are by live"):
        plan(world, ours, live="none", **given)


def test_that_nothing_writes_to_the_table_is_part_of_the_contract_s_hash(world: World) -> None:
    assert contract_hash(world.request().contract) != contract_hash(world.request(live="none").contract)


def test_of_a_partition_without_a_record_of_the_range_nothing_can_count_twice(world: World) -> None:
    """Of partition 1 no snapshot is left that records an offset."""
    some = LiveHistory({0: 480}, 3, False, frozenset(), 0)
    before = Log([Record(milliseconds(JUNE) - 10 * 86_400_000)])
    for nothing in (Log([]), before):
        assert plan(world, some, [hourly(20), nothing]).source.ranges == {0: ((119, 170),)}
    with pytest.raises(LivePositionUnknownError, match=r"partition 1 of shop\.orders") as refused:
        plan(world, some)
    assert refused.value.fields["unknown"] == [1]
    assert "have expired" in refused.value.what


def test_the_whole_table_needs_the_position_of_every_partition_that_ever_had_a_record(world: World) -> None:
    some = LiveHistory({0: 480}, 3, False, frozenset(), 0)
    assert plan(world, some, [hourly(20), Log([])], **CLASSES["upsert"]).source.live == {0: 480, 1: 0}
    with pytest.raises(LivePositionUnknownError):
        plan(world, some, [hourly(20), Log([Record(milliseconds(JUNE) - 10 * 86_400_000)])], **CLASSES["upsert"])


def test_a_range_of_which_the_topic_holds_nothing_is_empty_whoever_writes(world: World) -> None:
    with pytest.raises(EmptyRangeError):
        plan(world, FOREIGN, [hourly(1)])


def test_a_table_without_a_snapshot_has_nothing_to_correct(world: World) -> None:
    specs: list[dict[str, Any]] = [{}, {"live": "none"}]
    for spec in specs:
        with pytest.raises(PlanRefusedError) as refused:
            plan(world, NO_LIVE, target={"base": None}, **spec)
        assert refused.value.code == "plan.target-empty"
