"""Where a stream-faithful replay starts: the last checkpoint before the range, live's beginning, or a refusal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.unit.plan.world import JUNE, SETTINGS, Log, Record, World, milliseconds

from anabranch.plan.offsets.completeness import Proof
from anabranch.plan.offsets.ranges import EndsBy, timestamp_bounds
from anabranch.plan.plan import read_plan
from anabranch.plan.planner import Planned, make_plan
from anabranch.plan.ports import LiveHistory, SourceFacts, TimestampBounds
from anabranch.plan.request import SessionsByStreamError
from anabranch.plan.steps import describe, steps_of
from anabranch.plan.strategies.event_windows import events_needed
from anabranch.plan.strategies.live_batches import WindowedBatch, window_text
from anabranch.plan.strategies.strategy import StrategyIllegalError
from anabranch.plan.strategies.stream_start import NoStreamStartError, StreamCheckpoint
from anabranch.plan.target_range import Grain, PartitionRange, TimeAxis, widen

HOUR = timedelta(hours=1)
WINDOW = {"kind": "tumbling", "size": "1h", "lateness": "10m"}
START = JUNE - timedelta(days=1)
PER_BATCH = 6
LOG = Log([Record(milliseconds(START + n * HOUR / 4), START + n * HOUR / 4) for n in range(96 * 4)])
"""Four events an hour, in order, from a day before the range on; live read them six at a time."""
DAMAGE = 24 * 4
"""The first offset with an event of the range."""


def mark(offset: int) -> int:
    """The watermark when all before this offset was read."""
    return max(0, milliseconds(START + (offset - 1) * HOUR / 4) - 600_000) if offset else 0


def batches(world: World, **changes: object) -> tuple[WindowedBatch, ...]:
    window = world.request(pipe={"class": "windowed", "window": WINDOW}).pipeline.spec.window
    assert window is not None
    found = []
    for number, start in enumerate(range(0, len(LOG.records), PER_BATCH)):
        marks = mark(start), mark(max(0, start - PER_BATCH))
        span = {0: (start, start + PER_BATCH)}
        found.append(WindowedBatch("q", number, "u1", span, *marks, 0, window_text(window)))
    return tuple(replace(each, **changes) for each in found)  # type: ignore[arg-type]


def kept(offset: int, **changes: object) -> StreamCheckpoint:
    """The checkpoint after the batch that ends at this offset."""
    batch = offset // PER_BATCH - 1
    made = StreamCheckpoint(
        f"{batch}-q", "q", batch, "u1", {0: offset}, mark(offset - PER_BATCH), None, "c0", JUNE + offset * HOUR
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def planned(
    world: World,
    checkpoints: Sequence[StreamCheckpoint],
    told: Sequence[WindowedBatch],
    *,
    log: Log = LOG,
    spec: Mapping[str, Any] | None = None,
    now: datetime = JUNE + timedelta(days=30),
) -> Planned:
    request = world.request(
        pipe={"class": "windowed", "window": WINDOW, "eventTime": {"field": "ordered_at", "slack": "1s"}},
        strategy="stream-faithful",
        range={"eventTime": {"from": "2025-06-01T00:00:00Z", "to": "2025-06-01T06:00:00Z"}},
        **(spec or {}),
    )
    partitions = widen(TimeAxis("ordered_at", Grain.HOUR), request.start or JUNE, request.end or JUNE)
    live = LiveHistory({0: len(LOG.records)}, 1, True, frozenset(), 0, mark(len(LOG.records)))
    target = world.target(request, live=live, partitions=partitions, batches=tuple(told))

    def look(wanted: TimestampBounds) -> SourceFacts:
        return SourceFacts("shop.orders", "u1", {0: log.facts(wanted)}, SETTINGS, None)

    span = events_needed(request.pipeline.spec.window, partitions)
    source = look(timestamp_bounds(span, request.slack, everything=False))
    return make_plan(request, "c1", source, target, now=now, checkpoints=checkpoints, measure=look)


def test_the_last_checkpoint_before_the_range_and_a_stop_by_itself(world: World) -> None:
    on_the_edge, too_late = kept(DAMAGE), kept(DAMAGE + PER_BATCH)
    plan = planned(world, [too_late, on_the_edge, kept(60)], batches(world)).plan
    assert plan.stream is not None
    assert (plan.stream.checkpoint, plan.stream.digest) == (on_the_edge.name, on_the_edge.digest)
    assert plan.stream.position == {0: DAMAGE}
    [(start, end)] = plan.source.ranges[0]
    assert start == DAMAGE
    assert isinstance(plan.target.partitions, PartitionRange)
    closed = milliseconds(plan.target.partitions.end)
    last = next(batch for batch in batches(world) if batch.watermark >= closed)
    assert end == last.offsets[0][1], "the first batch whose watermark has closed the last window"
    assert plan.slices[-1].closes == last.watermark
    assert read_plan(plan.document()) == plan
    words = [describe(step) for step in steps_of(plan)]
    assert f"copy live's checkpoint {on_the_edge.name}; the stream continues after batch {on_the_edge.batch}" in words
    assert any("windows closed up to 2025-06-01T" in line for line in words)


def test_another_digest_is_another_plan(world: World) -> None:
    plans = [planned(world, [kept(60, code=code)], batches(world)).plan for code in ("c0", "c0", "c9")]
    assert plans[0].hash == plans[1].hash != plans[2].hash


@pytest.mark.parametrize("strange", [{"topic": "u0"}, {"query": "other"}])
def test_a_checkpoint_of_another_topic_is_not_taken_and_one_of_another_query_has_no_batches(
    world: World, strange: dict[str, str]
) -> None:
    checkpoint = kept(60, **strange)
    if "topic" in strange:
        cold = planned(world, [], batches(world)).plan
        assert planned(world, [checkpoint], batches(world)).plan == cold
    else:
        with pytest.raises(NoStreamStartError, match="all of live's commits since the checkpoint 9-q"):
            planned(world, [checkpoint], batches(world))


def test_with_no_checkpoint_live_is_replayed_from_its_first_batch(world: World) -> None:
    found = planned(world, [kept(DAMAGE + PER_BATCH)], batches(world))
    assert found.plan.stream is not None
    assert (found.plan.stream.checkpoint, found.plan.stream.batch, found.plan.stream.position) == (None, -1, {0: 0})
    assert found.plan.source.proof == {0: Proof.WHOLE}
    assert found.estimates.ends == {0: EndsBy.CLOSED}
    assert found.plan.slices[0].offsets == {0: (0, PER_BATCH)}
    assert "start the stream at live's first batch, without state" in [describe(s) for s in steps_of(found.plan)]


def test_the_cap_comes_from_the_contract(world: World) -> None:
    capped = planned(world, [kept(60)], batches(world), spec={"budget": {"windowsPerBatch": 1}}).plan
    free = planned(world, [kept(60)], batches(world)).plan
    assert len(free.slices) == 1
    assert len(capped.slices) >= 6, "the range has six windows"


def test_a_hole_in_lives_history_a_beginning_behind_the_range_and_lost_records_are_refused(world: World) -> None:
    told = batches(world)
    holed = [batch for batch in told if batch.number != 20]
    with pytest.raises(NoStreamStartError, match="all of live's commits since the checkpoint 9-q") as refused:
        planned(world, [kept(60)], holed)
    assert "batch-exact" in refused.value.remedy
    with pytest.raises(NoStreamStartError, match="all of live's commits since its first batch"):
        planned(world, [], told[1:])
    torn = [replace(batch, offsets={0: (7, 12)}) if batch.number == 1 else batch for batch in told]
    with pytest.raises(NoStreamStartError, match="since its first batch"):
        planned(world, [], torn)
    late = [replace(batch, number=batch.number - 20) for batch in told[20:]]
    late[0] = replace(late[0], late_before=0)
    with pytest.raises(NoStreamStartError, match="its first batch is not before it either"):
        planned(world, [], late)
    with pytest.raises(NoStreamStartError, match="has lost offsets 60 to 69"):
        planned(world, [kept(60)], told, log=Log(LOG.records, gone=70))


def test_only_fixed_windows_can_be_replayed_as_a_stream(world: World) -> None:
    for name in ("stateless", "upsert"):
        with pytest.raises(StrategyIllegalError, match="stream-faithful needs class windowed"):
            world.request(pipe={"class": name}, strategy="stream-faithful")
    with pytest.raises(StrategyIllegalError):
        world.request(strategy="batch-exact")
    session = {"kind": "session", "gap": "20m", "lateness": "10m"}
    with pytest.raises(SessionsByStreamError, match="would have no end"):
        world.request(pipe={"class": "windowed", "window": session}, strategy="stream-faithful")
