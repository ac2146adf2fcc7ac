"""The last good state before a moment, by a topic's records and the zone map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.unit.plan.world import HOUR, JUNE, SETTINGS, Log, World, hourly, pipeline

from anabranch.contract.pipeline import PipelineSpec
from anabranch.plan.offsets.completeness import MicrosRange
from anabranch.plan.offsets.zones import NO_MAP, ZoneMap
from anabranch.plan.ports import SourceFacts, TimestampBounds
from anabranch.plan.strategies.start_snapshots import TableSnapshot
from anabranch.plan.strategies.stream_start import StreamCheckpoint
from anabranch.plan.target_range import TimeAxis
from anabranch.readiness.start_points import find_start_points
from anabranch.runs.heads import Head

START = JUNE - timedelta(days=5)
"""When the first event of an hourly log happened: offset n is of n hours later."""


def state(end: int, *, topic: str = "u1", partitions: int = 1) -> TableSnapshot:
    """A snapshot with every event before offset `end` of each partition."""
    position = dict.fromkeys(range(partitions), end)
    return TableSnapshot(Head(f"s{end}"), None, topic, position, None, START + end * HOUR)


def checkpoint(end: int) -> StreamCheckpoint:
    return StreamCheckpoint(f"b{end}", "query", end, "u1", {0: end}, 0, None, "c1", START + end * HOUR)


@dataclass
class Kept:
    """What is kept of one pipeline: its states, and a log that is measured as a broker would answer."""

    logs: list[Log]
    states: tuple[TableSnapshot, ...] = ()
    streams: tuple[StreamCheckpoint, ...] = ()
    live: Mapping[int, int] | None = None
    measured: list[TimestampBounds] = field(default_factory=list)

    def snapshots(self) -> tuple[TableSnapshot, ...]:
        return self.states

    def checkpoints(self) -> tuple[StreamCheckpoint, ...]:
        return self.streams

    def live_ends(self) -> Mapping[int, int]:
        return {n: len(log.records) for n, log in enumerate(self.logs)} if self.live is None else self.live

    def axis(self) -> TimeAxis | None:
        return None

    def measure(self, bounds: TimestampBounds) -> SourceFacts:
        self.measured.append(bounds)
        return SourceFacts(
            "shop.orders", "u1", {n: log.facts(bounds) for n, log in enumerate(self.logs)}, SETTINGS, None
        )

    def zones(self, topic: str, moments: MicrosRange) -> ZoneMap:
        return NO_MAP


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> PipelineSpec:
    return spec_of(tmp_path_factory)


def spec_of(factory: pytest.TempPathFactory, **changes: Any) -> PipelineSpec:
    world = World.below(factory.mktemp("points") / "shop")
    return pipeline(world.folder, **changes).spec


def good(kept: Kept, spec: PipelineSpec, before: datetime) -> str | None:
    found = find_start_points(kept, spec, before)
    return None if found.last_good is None else str(found.last_good.snapshot)


def test_without_a_moment_every_state_is_listed_and_the_topic_is_not_read(spec: PipelineSpec) -> None:
    kept = Kept([hourly(2)], (state(30), state(10)), (checkpoint(5),))
    found = find_start_points(kept, spec, None)
    assert (found.states, found.streams, found.last_good) == (kept.states, kept.streams, None)
    assert kept.measured == []
    kinds = [(each["kind"], each["last_good"]) for each in found.document()["checkpoints"]]
    assert kinds == [("table", False), ("table", False), ("stream", False)]


def test_the_last_good_state_holds_no_event_from_the_moment_on(spec: PipelineSpec) -> None:
    """The slack is an hour, so an event of the moment may be recorded an hour earlier."""
    kept = Kept([hourly(2)], (state(40), state(24), state(23), state(22)))
    assert good(kept, spec, START + 24 * HOUR) == "s23"
    assert good(kept, spec, START + 23 * HOUR) == "s22"
    marked = find_start_points(kept, spec, START + 24 * HOUR).document()
    assert [each["last_good"] for each in marked["checkpoints"]] == [False, False, True, False]
    assert marked["last_good"] == "s23"


def test_no_state_is_good_if_each_holds_a_later_event(spec: PipelineSpec) -> None:
    assert good(Kept([hourly(2)], (state(40), state(30))), spec, START + 24 * HOUR) is None


def test_a_state_is_good_only_if_it_is_in_every_partition(spec: PipelineSpec) -> None:
    late = Log(hourly(2).records[20:])
    """Its offset 3 is of the hour 23, so that a state up to offset 10 holds later events of this partition."""
    kept = Kept([hourly(2), late], (state(10, partitions=2), state(3, partitions=2)))
    assert good(kept, spec, START + 24 * HOUR) == "s3"


def test_states_of_a_former_topic_are_never_good(spec: PipelineSpec) -> None:
    kept = Kept([hourly(2)], (state(10, topic="former"), state(5)))
    assert good(kept, spec, START + 24 * HOUR) == "s5"


def test_what_live_has_not_written_is_no_damage(spec: PipelineSpec) -> None:
    kept = Kept([hourly(2)], (state(20),), live={0: 20})
    assert good(kept, spec, START + 30 * HOUR) == "s20"


def test_a_checkpoint_of_windows_must_hold_nothing_of_a_window_of_the_moment(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    windowed = spec_of(
        tmp_path_factory,
        **{"class": "windowed", "window": {"kind": "tumbling", "size": "6h", "lateness": "10m"}},
    )
    kept = Kept([hourly(2)], streams=(checkpoint(23), checkpoint(18), checkpoint(17)))
    found = find_start_points(kept, windowed, START + 24 * HOUR - timedelta(minutes=1))
    assert found.last_good_stream is not None
    assert found.last_good_stream.name == "b17", "the window begins at hour 18, and the slack is an hour"
