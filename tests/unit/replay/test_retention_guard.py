"""A replay in its race against retention, over a real run store: what goes first, what is extended, what is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest
from tests.unit.plan.test_retention_race import expiring
from tests.unit.replay.test_replayer import IDS, RUN, SLICES, BrokenError, Scene, broken, scene_of
from tests.unit.replay.test_retention_extension import DAY, TOPIC, Topics

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.errors import AnabranchError
from anabranch.plan.retention.decision import Extension, Options, RaceAnswer
from anabranch.plan.retention.facts import RetentionFacts
from anabranch.plan.retention.rate import ReplayRate
from anabranch.plan.slices import Slice
from anabranch.plan.steps import ReplaySlice
from anabranch.replay.replayer import Clock, ReplayEnd
from anabranch.replay.retention_extension import STEP, RetentionExtension, TopicRetention
from anabranch.replay.retention_guard import CHECK_SECONDS, DECIDED, RetentionGuard, guarding
from anabranch.replay.retention_share import NoShare
from anabranch.runs.states import State

ONE_EACH = tuple(replace(each, offsets={number: (0, 10)}) for number, each in enumerate(SLICES))
"""The replayer's slices, each of a partition of its own."""
ANY_ORDER = Options(None)
WEEKS = Options(None, extension=Extension(14 * DAY))


@dataclass
class Cluster:
    """When the first record of each partition expires, in seconds from the beginning."""

    left: dict[int, float]
    now: Callable[[], float] = lambda: 0.0
    looks: int = 0
    is_silent: bool = False

    def measure(self, slices: Iterable[Slice]) -> RetentionFacts:
        self.looks += 1
        if self.is_silent:
            broken()
        return expiring({partition: left - self.now() for partition, left in self.left.items()})


@dataclass
class Race:
    scene: Scene
    cluster: Cluster
    topics: Topics
    now: float = 0.0
    tick: float = 10.0
    """How long a slice takes."""
    notices: list[str] = field(default_factory=list)
    options: Options = ANY_ORDER

    def __post_init__(self) -> None:
        self.cluster.now = lambda: self.now

    @property
    def store(self) -> SqlRunStore:
        return self.scene.store

    def guard(self, rate: float | None = 10.0) -> RetentionGuard:
        return RetentionGuard(
            self.scene.lease,
            self.cluster,
            lambda: self.options,
            RetentionExtension(self.scene.lease, self.topics, TOPIC, lambda: self.store.reader.open_steps(STEP)),
            None if rate is None else ReplayRate(lambda _: rate, "a rehearsal"),
            self.notices.append,
            lambda: self.now,
        )

    def replay(self, guard: RetentionGuard) -> ReplayEnd:
        writer = self.scene.writer
        writer.after_commit = {each: partial(self._committed, writer.after_commit.get(each)) for each in IDS}
        clock = Clock(lambda: self.now, lambda _: None)
        with guarding(guard) as order:
            return replace(self.scene.replayer, order=order, clock=clock)([ReplaySlice(each) for each in ONE_EACH])

    def _committed(self, then: Callable[[], None] | None) -> None:
        self.now += self.tick
        if then is not None:
            then()

    def noted(self) -> Mapping[str, object]:
        note = self.store.reader.retention_race(RUN)
        assert note is not None
        return note.details

    def decided(self) -> list[str]:
        return [each.details for each in self.store.reader.audit(run_id=RUN, action=DECIDED)]


@pytest.fixture
def race(tmp_path: Path) -> Iterator[Race]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as store:
        # 5 slices of 10 s, one and a half times: 75 s.
        yield Race(scene_of(store), Cluster(dict.fromkeys(range(5), 1000.0)), Topics(7 * DAY))


def test_with_time_enough_the_plans_order_stays_and_nothing_is_told(race: Race) -> None:
    race.cluster.left[4] = 200.0
    assert race.replay(race.guard()) is ReplayEnd.STAGED
    assert race.scene.staged == IDS
    assert (race.notices, race.decided(), race.topics.log) == ([], [], [])
    assert (race.noted()["answer"], race.noted()["reading"]) == ("enough-time", False)


def test_what_expires_soonest_goes_first_and_what_was_prefetched_is_discarded(race: Race) -> None:
    guard = race.guard()
    race.cluster.left[3] = 20.0
    assert race.replay(guard) is ReplayEnd.STAGED
    assert race.scene.staged == [IDS[3], *IDS[:3], IDS[4]]
    assert "soonest-first" in race.notices[0]


def test_the_order_changes_in_the_middle_of_a_replay(race: Race) -> None:
    def hurry() -> None:
        race.now += CHECK_SECONDS
        race.cluster.left[4] = 40.0

    race.scene.writer.after_commit[IDS[0]] = hurry
    assert race.replay(race.guard()) is ReplayEnd.STAGED
    assert race.scene.staged == [IDS[0], IDS[4], *IDS[1:4]]
    assert race.scene.writer.log.count(("begin", IDS[2])) == 2, "what was prefetched for the former order is discarded"


def test_a_cluster_that_can_not_be_measured_leaves_the_order_and_stops_nothing(race: Race) -> None:
    def fall_silent() -> None:
        race.cluster.is_silent = True

    race.cluster.left[3] = 40.0
    race.tick = CHECK_SECONDS
    race.scene.writer.after_commit[IDS[3]] = fall_silent
    assert race.replay(race.guard()) is ReplayEnd.STAGED
    assert race.scene.staged == [IDS[3], *IDS[:3], IDS[4]]


def test_short_slices_share_one_look(race: Race) -> None:
    race.tick = CHECK_SECONDS / 10
    race.replay(race.guard())
    assert race.cluster.looks == 1


def test_an_extension_stands_while_it_reads_and_ends_with_it(race: Race) -> None:
    race.options, race.cluster.left = WEEKS, dict.fromkeys(range(5), 20.0)
    during: list[int | None] = []
    race.scene.writer.after_commit[IDS[2]] = lambda: during.append(race.topics.own)
    assert race.replay(race.guard()) is ReplayEnd.STAGED
    assert (during, race.topics.own) == ([14 * DAY], 7 * DAY)
    assert race.noted()["answer"] == "extension"


def test_an_extension_ends_where_a_replay_fails(race: Race) -> None:
    race.options, race.cluster.left = WEEKS, dict.fromkeys(range(5), 20.0)
    race.scene.writer.upon[IDS[2]] = broken
    with pytest.raises(BrokenError):
        race.replay(race.guard())
    assert race.topics.log == [14 * DAY, 7 * DAY]
    assert race.scene.state is State.FAILED


def test_an_extension_that_the_cluster_refuses_is_told_once_and_the_replay_goes_on(race: Race) -> None:
    race.options, race.cluster.left, race.topics.denied = WEEKS, dict.fromkeys(range(5), 20.0), True
    assert race.replay(race.guard()) is ReplayEnd.STAGED
    assert race.topics.own == 7 * DAY
    assert race.noted()["answer"] == "lost"
    [told] = race.notices
    assert "the race is being lost" in told
    assert any("not authorized" in each for each in race.decided())


def test_a_race_that_is_being_lost_names_what_expires_and_the_next_command(race: Race) -> None:
    race.cluster.left, race.tick = dict.fromkeys(range(5), 20.0), 1.0
    race.replay(race.guard())
    [told] = race.notices
    assert "partition 4 from offset 0" in told
    assert f"anabranch throttle {RUN} --rate none" in told


def test_the_replays_own_rate_counts_once_a_slice_is_done(race: Race) -> None:
    guard = race.guard(rate=None)
    assert guard(ONE_EACH) == ONE_EACH
    race.cluster.left = dict.fromkeys(range(5), 130.0)
    race.now += CHECK_SECONDS
    guard(ONE_EACH)
    assert race.noted()["answer"] == "enough-time", "the rate is unknown, and nothing expires at any moment"
    race.now += 3600.0  # in the queue
    race.cluster.left = dict.fromkeys(range(5), race.now + 115.0)
    guard.slice_begins()
    race.now += 30.0
    guard.slice_done(ONE_EACH[0])
    guard(ONE_EACH[1:])
    assert race.noted()["answer"] == "lost", "four slices of 30 s in 85 s"
    race.cluster.left = dict.fromkeys(range(5), race.now + 200.0)
    race.now += CHECK_SECONDS
    guard(ONE_EACH[1:])
    assert race.noted()["answer"] == "enough-time", "the hour in the queue is no part of the rate"
    assert "this replay" in str(race.noted()["rate"])


def test_a_slice_with_a_control_counts_both_variants(race: Race) -> None:
    guard = replace(race.guard(rate=None), variants=2)
    guard.slice_begins()
    for _ in range(2):
        race.now += 5.0
        guard.slice_done(ONE_EACH[0])
    assert guard.rate is not None
    assert guard.rate.seconds(ONE_EACH[1]) == 10.0


def test_a_cluster_that_does_not_answer_at_the_end_is_told_and_the_first_error_stays(race: Race) -> None:
    class SilentError(AnabranchError):
        code = "test.silent"

    race.options, race.cluster.left = WEEKS, dict.fromkeys(range(5), 20.0)
    guard = race.guard()

    def silent(_topic: str) -> TopicRetention | None:
        raise SilentError("Kafka did not answer.", state="unknown", hint="wait")

    def fall_silent() -> None:
        race.topics.read = silent  # type: ignore[assignment,method-assign]
        broken()

    class Given(NoShare):
        back = False

        def give_back(self) -> None:
            self.back = True

    guard.share = share = Given()
    race.scene.writer.upon[IDS[1]] = fall_silent
    with pytest.raises(BrokenError):
        race.replay(guard)
    assert share.back, "the greater share does not depend on Kafka"
    assert "anabranch retention sweep" in race.notices[-1]
    assert len(race.store.reader.open_steps(STEP)) == 1, "the next command finds it"


def test_an_answer_is_recorded_when_it_changes_and_not_at_every_look(race: Race) -> None:
    guard = race.guard()
    answers: Sequence[tuple[float, RaceAnswer]] = [
        (1000, RaceAnswer.ENOUGH_TIME),
        (20, RaceAnswer.LOST),
        (21, RaceAnswer.LOST),
    ]
    for left, answer in (*answers, (1000.0, RaceAnswer.ENOUGH_TIME)):
        race.now += CHECK_SECONDS
        race.cluster.left = dict.fromkeys(range(5), race.now + left)
        guard(ONE_EACH)
        assert race.noted()["answer"] == answer.value
    assert len(race.decided()) == len(race.notices) == 2
    assert "enough time again" in race.notices[-1]
