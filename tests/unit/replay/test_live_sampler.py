"""What is seen of live from outside, by sources in memory and clocks that only the test moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from anabranch.errors import AnabranchError
from anabranch.replay.live_sampler import MEMBERS_SECONDS, LiveSampler
from anabranch.replay.live_signals import LiveSignals
from anabranch.replay.live_sources import BatchTiming, LiveDriver, SeenCommit

EPOCH = 1_750_000_000.0


class GoneError(AnabranchError):
    code = "test.gone"


def gone() -> GoneError:
    return GoneError("Kafka did not answer.", state="as before", hint="try again")


@dataclass
class World:
    """A topic of one partition, a group, a table, and a driver."""

    end: int = 1000
    group_at: int | None = None
    table_at: int | None = None
    member_count: int = 0
    found: LiveDriver | None = None
    silent: set[str] = field(default_factory=set)
    expected: bool = True
    now: float = 0.0
    skew: float = 0.0
    """Of the writer's clock."""
    gap: float | None = None
    last: float | None = None
    commits: list[SeenCommit] = field(default_factory=list)
    group: str = "shop-orders"

    def __post_init__(self) -> None:
        self.sampler = LiveSampler(self, self, self, self.expected, lambda: self.now, lambda: EPOCH + self.now)

    def _ask(self, service: str) -> None:
        if service in self.silent:
            raise gone()

    def log_ends(self) -> Mapping[int, int]:
        self._ask("log")
        return {0: self.end}

    def group_offsets(self) -> Mapping[int, int]:
        self._ask("group")
        return {} if self.group_at is None else {0: self.group_at}

    def members(self) -> int:
        return self.member_count

    @property
    def position(self) -> Mapping[int, int]:
        return {} if self.table_at is None else {0: self.table_at}

    def look(self) -> Sequence[SeenCommit]:
        if "table" in self.silent:
            raise OSError("no such catalog")
        found, self.commits = self.commits, []
        return found

    def driver(self) -> LiveDriver | None:
        self._ask("driver")
        return self.found

    def second(self, arrive: int = 10) -> LiveSignals:
        """Records arrive, then it is looked."""
        self.now += 1
        self.end += arrive
        self.sampler.sample()
        return self.sampler.read()

    def seconds(self, number: int, arrive: int = 10) -> LiveSignals:
        return [self.second(arrive) for _ in range(number)][-1]

    def commit(self, to: int) -> None:
        """Live's commit to the table, now."""
        before = self.table_at or 0
        self.table_at = to
        self.last = EPOCH + self.now + self.skew
        self.commits.append(SeenCommit(self.last, {0: (before, to)}))


def driver(*, runs: bool = True, ended: str = "running", batches: int = 0, silent: tuple[str, ...] = ()) -> LiveDriver:
    return LiveDriver(runs, ended, tuple(BatchTiming(n, 0.5 + n, (0.5 + n) / 10) for n in range(batches)), silent)


def test_lag_is_that_of_the_group() -> None:
    world = World(group_at=1000)
    signals = world.seconds(5)
    assert signals.lag_records == 50
    assert signals.lag_seconds == pytest.approx(4, abs=1)


def test_of_group_and_table_the_further_one_counts() -> None:
    world = World(group_at=1000, table_at=400)
    assert world.seconds(1).lag_records == 10
    world = World(group_at=10, table_at=1000)
    assert world.seconds(1).lag_records == 10


def test_latencies_come_from_commits_to_the_table() -> None:
    world = World(group_at=1000, table_at=1000)
    world.seconds(5)
    world.commit(1050)
    signals = world.seconds(2)
    assert signals.latencies is not None
    assert sorted(signals.latencies) == pytest.approx([0.5, 1.5, 2.5, 3.5], abs=0.6)


@pytest.mark.parametrize("skew", [-3600.0, 3600.0])
def test_a_writer_whose_clock_is_wrong_committed_between_two_looks(skew: float) -> None:
    world = World(table_at=1000, skew=skew)
    world.seconds(5)
    world.commit(1050)
    signals = world.seconds(2)
    assert signals.latencies
    assert 0 < max(signals.latencies) < 8


def test_without_commits_of_ours_latencies_come_from_the_group() -> None:
    world = World(group_at=1000)
    world.seconds(5)
    world.group_at = 1050
    signals = world.seconds(2)
    assert signals.latencies is not None
    assert max(signals.latencies) > 3


def test_the_first_look_makes_no_latencies_of_what_was_committed_before() -> None:
    world = World(group_at=10)
    world.commit(1000)
    assert world.second(0).latencies == ()


def test_what_can_not_be_read_is_none_and_named() -> None:
    world = World(group_at=1000, table_at=1000, found=driver())
    world.seconds(4)
    world.silent = {"group", "table", "driver"}
    signals = world.seconds(2)
    assert set(signals.silent) == {"group", "table", "driver"}
    assert signals.latencies is None
    assert (signals.batch_ratio, signals.errors) == (None, None)
    assert signals.live_runs
    world.silent = {"log"}
    signals = world.seconds(2)
    assert (signals.lag_records, signals.lag_seconds) == (None, None)
    assert set(signals.silent) == {"log"}
    world.silent = set()
    assert world.seconds(2).silent == {}


def test_an_expected_live_without_any_position_is_a_lost_signal() -> None:
    assert "lag" in World().seconds(1).silent
    assert World(expected=False).seconds(1).silent == {}


def test_live_is_seen_by_its_driver() -> None:
    assert not World(group_at=1000).second().live_runs
    assert World(group_at=1000, found=driver()).second().live_runs
    assert not World(group_at=1000, found=driver(runs=False, ended="stopped")).second().live_runs


def test_live_is_seen_by_the_members_of_its_group() -> None:
    assert World(group_at=1000, member_count=2).second().live_words == "group shop-orders has 2 members"


def test_members_are_looked_for_again() -> None:
    world = World(group_at=1000)
    assert not world.second().live_runs
    world.member_count = 1
    assert world.seconds(int(MEMBERS_SECONDS) + 2).live_runs


def test_live_is_seen_by_its_moving_position() -> None:
    world = World(group_at=1000)
    assert not world.seconds(3).live_runs
    world.group_at = 1005
    assert world.seconds(2).live_runs


def test_live_that_moves_no_more_with_records_waiting_is_still_protected() -> None:
    world = World(group_at=1000)
    world.seconds(3)
    world.group_at = 1005
    assert world.seconds(600).live_runs
    assert world.sampler.read().lag_seconds == pytest.approx(600, abs=5)


def test_live_that_wrote_everything_and_is_gone_needs_no_protection() -> None:
    world = World(group_at=1000)
    world.seconds(3)
    world.group_at = world.end
    world.seconds(2, arrive=0)
    assert world.sampler.read().live_runs
    assert not world.seconds(70, arrive=0).live_runs


def test_live_whose_next_commit_is_not_overdue_is_taken_to_run() -> None:
    recent = World(table_at=1000, gap=300.0, last=EPOCH - 200)
    assert recent.second().live_runs
    assert not World(table_at=1000, gap=300.0, last=EPOCH - 900).second().live_runs


def test_live_that_is_stopped_on_request_is_not_protected_and_one_that_died_is() -> None:
    for ended, protected in (("stopped", False), ("running", True), ("failed", True)):
        world = World(group_at=1000, found=driver())
        world.seconds(3)
        world.found = driver(runs=False, ended=ended)
        assert world.seconds(2).live_runs is protected


def test_a_driver_that_dies_is_one_error() -> None:
    world = World(group_at=1000, found=driver())
    world.seconds(3)
    world.found = driver(runs=False)
    found = [world.second().errors for _ in range(2)]
    assert found[-1] == 1 or found[0] == 1
    assert world.seconds(2).errors == 0


def test_a_service_that_does_not_answer_live_is_one_error() -> None:
    world = World(group_at=1000, found=driver())
    world.seconds(3)
    world.found = driver(silent=("Kafka",))
    assert 1 in [world.second().errors for _ in range(2)]
    assert world.seconds(2).errors == 0


def test_the_longest_new_batch_counts_once() -> None:
    world = World(group_at=1000, found=driver(batches=2))
    assert world.seconds(3).batch_ratio is None
    world.found = driver(batches=4)
    assert 0.35 in [world.second().batch_ratio for _ in range(2)]
    assert world.seconds(2).batch_ratio is None


def test_an_unexpected_error_loses_the_signals_with_its_reason_and_the_next_look_finds_them_again() -> None:
    world = World(group_at=1000, member_count=1)
    world.seconds(5)
    look, world.sampler.log.look = world.sampler.log.look, lambda *_: 1 / 0  # type: ignore[method-assign, assignment]
    signals = world.second()
    assert signals.silent == {"live": "Internal error: ZeroDivisionError: division by zero."}
    assert signals.lag_seconds is None
    assert signals.live_runs, "what was seen to run is still protected"
    assert signals.at == world.now
    world.sampler.log.look = look  # type: ignore[method-assign]
    assert world.seconds(2).silent == {}
