"""The experiment beside a replay, by a clock of its own: when the replay reads, what is measured, and what ends it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from anabranch.errors import AnabranchError
from anabranch.gates.impact.design import Design
from anabranch.gates.impact.measured import Impact
from anabranch.readiness.impact_experiment import OBSERVE_SECONDS, ImpactExperiment
from anabranch.readiness.impact_requests import ImpactRequest
from anabranch.replay.allowance import UNLIMITED, Allowance

CONTRACT = Allowance("contract", "budget.bytesPerSecond", 2_000_000)


class DatabaseSilentError(AnabranchError):
    code = "test.silent"


@dataclass
class Log:
    request: ImpactRequest | None = None
    designs: list[Design] = field(default_factory=list)
    results: list[tuple[Impact | None, str | None]] = field(default_factory=list)
    silent: bool = False

    def requested(self) -> ImpactRequest | None:
        return self.request

    def started(self, request: ImpactRequest, design: Design) -> None:
        self.designs.append(design)

    def ended(self, request: ImpactRequest, impact: Impact | None, reason: str | None) -> None:
        if self.silent:
            raise DatabaseSilentError("no answer", state="unchanged", hint="wait")
        self.results.append((impact, reason))
        self.request = None


@dataclass
class World:
    """A live that commits every second, and is `slowed` so many seconds while the replay reads."""

    log: Log = field(default_factory=Log)
    now: float = 0.0
    bytes: int = 0
    slowed: float = 0.0
    allowed: Allowance = UNLIMITED
    can_read: bool = True
    is_visible: bool = True
    held: list[tuple[float, Allowance]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.experiment = ImpactExperiment(self.log, lambda: self, clock=lambda: self.now)
        self.written: dict[float, int] = {}

    def log_ends(self) -> Mapping[int, int]:
        if not self.is_visible:
            raise OSError("no broker")
        return {0: int(self.now) * 100}

    def of_group(self) -> Mapping[int, int]:
        return {0: max((end for at, end in self.written.items() if at <= self.now), default=0)}

    def of_table(self) -> Mapping[int, int]:
        raise AssertionError("the group has committed")

    def run(self, seconds: float) -> None:
        for _ in range(int(seconds * 2)):
            self.now += 0.5
            applied = self.experiment.shape(self.allowed)
            self.held.append((self.now, applied))
            if self.can_read and not applied.paused:
                self.bytes += 500_000
            self.experiment.note_read("replay", self.bytes)
            delay = 1.0 + (self.slowed if not applied.paused else 0.0)
            self.written[self.now + delay] = int(self.now) * 100
            self.experiment.tick()


def asked(pairs: int = 6, block_seconds: float | None = None) -> ImpactRequest:
    return ImpactRequest(7, "ann", pairs, block_seconds, seed=3)


def test_nothing_is_held_until_somebody_asks() -> None:
    world = World(allowed=CONTRACT)
    world.run(60)
    assert {applied for _, applied in world.held} == {CONTRACT}
    assert not world.experiment.is_going_on


def test_the_replay_reads_in_the_blocks_with_it_and_in_no_other() -> None:
    world = World(Log(asked()), allowed=CONTRACT)
    world.run(OBSERVE_SECONDS + 6 * 40 + 30)
    [design], [(impact, reason)] = world.log.designs, world.log.results
    assert reason is None
    assert (design.pairs, design.block_seconds, design.settle_seconds) == (6, 20.0, 5.0)
    assert impact is not None
    assert [each.on for each in impact.blocks] == [each.on for each in design.blocks]
    assert all((each.bytes > 0) == each.on for each in impact.blocks)
    assert [each.flaw for each in impact.blocks] == [None] * 12
    held = [applied for _, applied in world.held if applied.source == "impact"]
    assert {each.bytes_per_second for each in held if not each.paused} == {2_000_000}
    assert {each.stands_still for each in held if each.paused} == {True}
    assert world.held[-1][1] == CONTRACT, "afterwards the limits hold alone"
    assert impact.bytes_per_second == 2_000_000


def test_a_replay_that_slows_live_is_found_and_one_that_does_not_is_not() -> None:
    harmful, harmless = World(Log(asked()), slowed=2.0), World(Log(asked()))
    for world in (harmful, harmless):
        world.run(OBSERVE_SECONDS + 6 * 40 + 30)
    [(found, _)], [(none, _)] = harmful.log.results, harmless.log.results
    assert found is not None
    assert none is not None
    assert found.latency is not None
    assert none.latency is not None
    assert found.latency.is_found
    assert found.latency.low is not None
    assert found.latency.low > 0
    assert not none.latency.is_found


def test_blocks_are_longer_where_live_commits_seldom() -> None:
    world = World(Log(asked()))
    world.of_group = lambda: {0: int(world.now // 14) * 1400}  # type: ignore[method-assign]
    world.run(OBSERVE_SECONDS + 5)
    [design] = world.log.designs
    assert design.block_seconds == 30.0


def test_blocks_begin_when_the_replay_reads() -> None:
    world = World(Log(asked(block_seconds=4.0)), can_read=False)
    world.run(60)
    assert world.log.designs == []
    world.can_read = True
    world.run(2)
    assert [each.block_seconds for each in world.log.designs] == [4.0]


@pytest.mark.parametrize(
    ("then", "flaw"),
    [
        (Allowance("governor", "lag", 500_000), "the governor lowered the rate inside the block"),
        (Allowance("pause", "asked", paused=True), "held by the pause of all replays: asked"),
    ],
)
def test_a_lower_limit_holds_at_once_and_the_pair_does_not_count(then: Allowance, flaw: str) -> None:
    world = World(Log(asked(block_seconds=20.0)), allowed=CONTRACT)
    world.run(2)
    while world.held[-1][1].paused or world.held[-1][1].source != "impact":
        world.run(0.5)
    world.allowed = then
    world.run(0.5)
    assert world.held[-1][1] == then
    world.allowed = CONTRACT
    world.run(6 * 40 + 30)
    [(impact, _)] = world.log.results
    assert impact is not None
    assert flaw in [each.flaw for each in impact.blocks]
    assert impact.lag is not None
    assert impact.lag.pairs == 5


def test_a_higher_limit_waits_for_the_end_of_the_block() -> None:
    world = World(Log(asked(block_seconds=20.0)), allowed=CONTRACT)
    world.run(2)
    while world.held[-1][1].paused or world.held[-1][1].source != "impact":
        world.run(0.5)
    world.allowed = UNLIMITED
    world.run(1)
    assert world.held[-1][1].bytes_per_second == 2_000_000


def test_a_replay_that_ends_leaves_the_pairs_that_were_complete() -> None:
    world = World(Log(asked(block_seconds=10.0)))
    world.run(65)
    world.experiment.stop("the replay ended")
    [(impact, reason)] = world.log.results
    assert reason == "the replay ended"
    assert impact is not None
    assert impact.ended == "the replay ended"
    assert len(impact.pairs) == 3
    assert impact.latency is not None
    assert impact.latency.low is None, "too few for a statement"
    assert world.experiment.shape(CONTRACT) == CONTRACT


def test_a_look_that_fails_is_missing_and_a_block_without_looks_does_not_count() -> None:
    world = World(Log(asked(block_seconds=20.0)))
    world.run(45)
    world.is_visible = False
    world.run(40)
    world.is_visible = True
    world.run(6 * 40)
    [(impact, _)] = world.log.results
    assert impact is not None
    assert any("live was sampled" in (each.flaw or "") for each in impact.blocks)
    assert impact.lag is not None
    assert impact.lag.pairs < 6


def test_a_result_that_can_not_be_recorded_is_recorded_later() -> None:
    world = World(Log(asked(block_seconds=4.0), silent=True))
    with pytest.raises(DatabaseSilentError):
        world.run(200)
    world.log.silent = False
    world.experiment.tick()
    [(impact, _)] = world.log.results
    assert impact is not None
    assert len(impact.pairs) == 6


def test_a_block_that_was_slept_through_is_missing_and_its_pair_does_not_count() -> None:
    world = World(Log(asked(block_seconds=10.0)))
    world.run(12)
    world.now += 25.0
    world.run(6 * 20)
    [(impact, _)] = world.log.results
    assert impact is not None
    assert len(impact.blocks) < 12
    assert len(impact.pairs) < 6


def test_a_block_without_the_replay_holds_nothing_once_nobody_looks_at_live_any_more() -> None:
    world = World(Log(asked(block_seconds=10.0)), allowed=CONTRACT)
    world.run(2)
    while not world.held[-1][1].stands_still:
        world.run(0.5)
    world.now += 15
    assert world.experiment.shape(CONTRACT).stands_still
    world.now += 10  # and no tick
    assert world.experiment.shape(CONTRACT) == CONTRACT


def test_steps_that_count_by_one_meter_are_not_added_up() -> None:
    world = World(Log(asked(block_seconds=10.0)), allowed=CONTRACT)
    world.run(60)
    world.experiment.note_read("control", world.bytes)
    world.run(6 * 20)
    [(impact, _)] = world.log.results
    assert impact is not None
    assert max(each.bytes for each in impact.blocks) <= 1_000_000 * 8


def test_a_client_that_fails_in_its_own_way_ends_the_request() -> None:
    def fail() -> World:
        raise OSError("no route")

    log = Log(asked())
    ImpactExperiment(log, fail).tick()
    assert log.results == [(None, "live's position can't be read: OSError: no route")]


def test_a_result_that_can_not_be_made_ends_the_experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(Log(asked(block_seconds=4.0)))
    monkeypatch.setattr("anabranch.readiness.impact_experiment.measure_blocks", lambda *_: 1 / 0)
    world.run(70)
    assert world.log.results == [(None, "Internal error: ZeroDivisionError: division by zero.")]
    assert not world.experiment.is_going_on
