"""The governor's actor: what it takes from the monitor, when it decides, and what it shows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from anabranch.replay.allowance import Allowance
from anabranch.replay.governing import Governor
from anabranch.replay.governor import Law
from anabranch.replay.live_signals import LiveSignals
from anabranch.replay.pressure import Baseline, Targets, Watched

MB = 1_000_000
CALM = LiveSignals(at=0.0, lag_records=10, lag_seconds=1.0, latencies=(1.0,), live_words="its driver runs")


@dataclass
class World:
    """Live as the test wants it, and a clock that only the test moves."""

    signals: LiveSignals = CALM
    now: float = 0.0
    bytes: int = 0
    stuck: bool = False
    more: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        watched = Watched(rehearsed=Baseline(latency=1.0, source="the rehearsal"))
        arguments = {"watched": watched, **self.more}
        self.governor = Governor(
            Law(100.0 * MB),
            Targets(),
            self,
            lambda: self.now,
            lambda: self.bytes,
            **arguments,  # type: ignore[arg-type]
        )

    def read(self) -> LiveSignals:
        return self.signals if self.stuck else replace(self.signals, at=self.now)

    def rate(self, seconds: int, bytes_per_second: int = 1000 * MB) -> list[float | None]:
        """The allowed rate at each tick, asked each second."""
        seen = []
        for second in range(seconds):
            allowed = self.governor.allowance()
            if second % 5 == 0:
                seen.append(None if allowed.bytes_per_second is None else allowed.bytes_per_second / MB)
            self.now += 1
            self.bytes += 0 if allowed.paused else bytes_per_second
        return seen


def test_it_decides_once_in_five_seconds() -> None:
    world = World()
    assert world.rate(35) == [5, 5, 5, 10, 10, 10, 20]


def test_it_answers_a_step_of_live_in_two_ticks() -> None:
    world = World()
    world.rate(35)
    world.signals = replace(CALM, latencies=(1.8,))
    assert world.rate(11)[-1] == 14


def test_every_observation_between_two_ticks_counts() -> None:
    world = World()
    for number in range(20):
        world.signals = replace(CALM, latencies=(9.0,) if number in (6, 12) else (1.0,))
        world.rate(1)
    assert world.governor.document()["signals"][0]["signal"] == "latency"


def test_without_live_it_does_not_limit_and_says_so() -> None:
    world = World(replace(CALM, live_runs=False, live_words="no live is seen to run"))
    assert world.rate(20) == [None] * 4
    assert world.governor.allowance() == Allowance("governor", "no live is seen to run")


def test_live_that_starts_in_the_middle_is_protected_within_a_tick() -> None:
    world = World(replace(CALM, live_runs=False))
    world.rate(20)
    world.signals = CALM
    assert world.rate(6)[-1] == 5


def test_a_monitor_whose_thread_ended_is_a_lost_signal() -> None:
    world = World()
    world.rate(60)
    world.stuck = True
    world.signals = replace(CALM, at=world.now)
    rates = world.rate(40)
    assert rates[-1] == 1
    assert "the signals of live could not be read" in world.governor.allowance().reason


def test_a_signal_that_is_silent_is_lost_since_it_was_first_so() -> None:
    world = World()
    world.rate(60)
    world.signals = replace(CALM, silent={"group": "Kafka did not answer"})
    world.rate(36)
    assert world.governor.allowance().bytes_per_second == MB
    world.rate(300)
    assert world.governor.allowance().paused
    world.signals = CALM
    world.rate(6)
    assert not world.governor.allowance().paused


def test_before_a_long_replay_live_is_observed_alone_until_there_is_a_baseline() -> None:
    world = World(more={"watched": Watched(), "observe_alone": 20.0})
    assert world.governor.allowance().paused
    world.rate(16, bytes_per_second=0)
    assert not world.governor.allowance().paused
    assert world.governor.document()["baseline"]["source"] == "live alone"


def test_live_that_commits_nothing_is_observed_for_20_s_at_most() -> None:
    world = World(replace(CALM, latencies=()), more={"watched": Watched(), "observe_alone": 20.0})
    world.rate(20, bytes_per_second=0)
    assert world.governor.allowance().bytes_per_second == 5 * MB
    assert not world.governor.allowance().paused


def test_it_stays_at_its_start_rate_until_live_has_committed_three_times() -> None:
    world = World(more={"watched": Watched()})
    rates = []
    for second in range(70):
        world.signals = replace(CALM, latencies=(5.0,) if second % 10 == 3 else ())
        rates += world.rate(1, 5 * MB)
    assert world.governor.document()["baseline"]["latency"] == 5.0
    assert set(rates[:25]) == {5}
    assert rates[-1] == 40


def test_live_beside_a_replay_that_is_exempt_is_no_baseline() -> None:
    world = World(replace(CALM, latencies=(5.0,)), more={"watched": Watched()})
    world.rate(30, bytes_per_second=100 * MB)
    assert world.governor.document()["baseline"]["latency"] is None


def test_it_waits_a_minute_at_most_for_commits_of_live() -> None:
    world = World(replace(CALM, latencies=()), more={"watched": Watched()})
    assert world.rate(60) == [5] * 12
    assert world.rate(11)[-1] == 10


def test_live_that_became_slow_without_the_replay_does_not_starve_it() -> None:
    world = World(replace(CALM, latencies=(2.5,)))
    assert world.rate(180)[-1] == 1
    world.rate(300)
    assert world.governor.document()["baseline"]["latency"] == 2.5
    assert (world.rate(300)[-1] or 0) > 10


def test_live_that_the_replay_slows_even_at_its_lowest_rate_keeps_its_baseline() -> None:
    world = World(replace(CALM, latencies=(2.5,)))
    rates = []
    for _ in range(900):
        paused = world.governor.allowance().paused
        world.signals = replace(CALM, latencies=(1.0 if paused else 2.5,))
        rates += world.rate(1)
    assert world.governor.document()["baseline"]["latency"] < 2.5
    assert rates[-1] == 1


def test_a_broker_metric_that_stops_pauses() -> None:
    world = World(more={"stops": frozenset({"under-min-isr"})})
    world.signals = replace(CALM, brokers={"under-min-isr": 10.0})
    world.rate(6)
    assert world.governor.allowance().paused


def test_a_rest_of_the_replay_counts_as_live_alone_unless_live_is_pressed() -> None:
    world = World(more={"watched": Watched()})
    world.rate(30, 5 * MB)
    assert world.governor.document()["baseline"]["source"] == "live at the replay's start rate"
    world.signals = replace(CALM, latencies=(1.2,))
    world.rate(40, bytes_per_second=0)
    assert world.governor.document()["baseline"] == {
        "source": "live alone",
        "lag": 1.0,
        "latency": 1.2,
        "batch": None,
    }


def test_the_document_shows_every_signal_with_value_target_and_age() -> None:
    world = World()
    world.rate(30)
    shown = world.governor.document()
    assert shown["signals"][1] == {"signal": "latency", "value": 1.0, "target": 1.25, "pressure": 0.0}
    assert shown["signals"][0] == {"signal": "lag", "value": 1.0, "target": 10.0, "pressure": 0.1}
    assert shown["live"] == "its driver runs"
    assert shown["age_seconds"] == 0.0
