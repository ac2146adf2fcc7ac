"""One test for each rule of the law, with a clock that only the test moves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.replay.governor import Decision, GovernorState, Law, Sight, begin, decide
from anabranch.replay.pressure import Pressure

MB = 1_000_000.0
LAW = Law(reference=100 * MB)
CALM, STILL, HOLDING, PRESSED, CRITICAL = 0.1, 0.5, 0.9, 1.5, 2.5


def lag(pressure: float) -> Pressure:
    return Pressure("lag", 10 * pressure, 10.0, " s")


def sight(pressure: float, *, used: float = 1e12, **more: object) -> Sight:
    return replace(Sight((lag(pressure),), used=used), **more)  # type: ignore[arg-type]


class Run:
    """Ticks of five seconds from 0 on."""

    def __init__(self, law: Law = LAW) -> None:
        self.law, self.now, self.state = law, 0.0, begin(law, 0.0)
        self.decision: Decision | None = None

    def tick(self, seen: Sight) -> Decision:
        self.now += self.law.tick
        self.state, self.decision = decide(self.law, self.state, seen, self.now)
        return self.decision

    def ticks(self, number: int, seen: Sight) -> list[float]:
        return [self.tick(seen).bytes_per_second / MB for _ in range(number)]

    def at(self, rate: float) -> Run:
        self.state = replace(self.state, rate=rate * MB, good=rate * MB)
        return self

    def of(self, **more: object) -> GovernorState:
        self.state = replace(self.state, **more)  # type: ignore[arg-type]
        return self.state


def test_it_starts_at_5_percent_and_doubles_every_15_s_to_50() -> None:
    assert Run().ticks(13, sight(CALM)) == [5, 5, 10, 10, 10, 20, 20, 20, 40, 40, 40, 50, 50]


def test_from_50_percent_it_adds_5_percent_every_15_s() -> None:
    assert Run().at(50).ticks(7, sight(CALM)) == [50, 50, 55, 55, 55, 60, 60]


def test_from_50_percent_it_only_rises_while_90_percent_is_used() -> None:
    assert Run().at(50).ticks(9, sight(CALM, used=44 * MB))[-1] == 50
    assert Run().at(50).ticks(3, sight(CALM, used=46 * MB))[-1] == 55


def test_it_does_not_rise_before_anything_was_read() -> None:
    assert Run().ticks(9, sight(CALM, used=0.0))[-1] == 5


def test_it_rises_only_after_three_calm_ticks_in_a_row() -> None:
    run = Run()
    assert [run.ticks(1, sight(each))[0] for each in (CALM, CALM, HOLDING, CALM, CALM, CALM)] == [5, 5, 5, 5, 5, 10]


def test_between_80_and_100_percent_it_holds() -> None:
    assert set(Run().at(30).ticks(30, sight(HOLDING))) == {30.0}


def test_above_1_it_takes_70_percent_and_holds_30_s() -> None:
    run = Run().at(50)
    assert run.ticks(7, sight(PRESSED)) == [35, 35, 35, 35, 35, 35, 24.5]
    run = Run().at(50)
    run.tick(sight(PRESSED))
    assert run.ticks(6, sight(CALM)) == [35, 35, 35, 35, 35, pytest.approx(37.5, abs=0.1)]  # 5 % of the bad 50


def test_below_another_limit_it_takes_70_percent_of_what_is_read() -> None:
    run = Run().at(50)
    run.ticks(2, sight(HOLDING))
    assert run.ticks(1, sight(PRESSED, used=10 * MB)) == [7]
    run = Run().at(50)
    assert run.ticks(1, sight(PRESSED, used=10 * MB)) == [35], "the rate was just set"
    run = Run().at(50)
    run.ticks(2, sight(HOLDING))
    assert run.ticks(1, sight(PRESSED, used=0.0)) == [35], "nothing is known of a replay that commits"


@pytest.mark.parametrize("seen", [sight(CRITICAL), Sight((Pressure("errors", 1, 0), lag(CALM)), used=1e12)])
def test_above_2_or_with_errors_it_drops_to_the_lowest_rate_at_once_and_rests_60_s(seen: Sight) -> None:
    run = Run().at(50)
    assert run.ticks(1, seen) == [1]
    assert run.ticks(11, sight(CALM)) == [1] * 11
    assert run.ticks(1, sight(CALM)) == [25]


def test_each_further_rest_is_twice_as_long_up_to_15_min() -> None:
    run, rests = Run(), []
    for _ in range(6):
        run.at(50)
        run.tick(sight(CRITICAL))
        began = run.now
        while run.state.rest_until is not None:
            run.tick(sight(CALM))
        rests.append(run.now - began)
    assert rests == [60, 120, 240, 480, 900, 900]


def test_rests_are_short_again_after_15_min_without_a_drop() -> None:
    run = Run().at(50)
    for _ in range(2):
        run.tick(sight(CRITICAL))
        run.ticks(30, sight(CALM))
    run.ticks(181, sight(HOLDING))
    run.at(50).tick(sight(CRITICAL))
    assert run.state.rest_until == run.now + 60


def test_it_does_not_resume_while_live_is_pressed() -> None:
    run = Run().at(50)
    run.tick(sight(CRITICAL))
    assert run.ticks(60, sight(PRESSED)) == [1] * 60
    assert run.ticks(1, sight(HOLDING)) == [25]


def test_it_stays_10_percent_below_the_lowest_bad_rate() -> None:
    run = Run().at(80)
    run.tick(sight(PRESSED))
    assert max(run.ticks(35, sight(STILL))) <= 0.9 * 80 * 1.1


def test_the_lowest_bad_rate_rises_by_half_after_a_minute_of_quiet() -> None:
    run = Run().at(80)
    run.tick(sight(PRESSED))
    run.ticks(11, sight(CALM))
    assert run.state.bad == 80 * MB
    run.ticks(1, sight(CALM))
    assert run.state.bad == 120 * MB
    run.ticks(11, sight(STILL))
    assert run.state.bad == 120 * MB


def test_the_lowest_bad_rate_ages_by_10_percent_in_3_min() -> None:
    run = Run().at(80)
    run.tick(sight(PRESSED))
    reached = run.ticks(200, sight(STILL))
    minutes = {number: reached[36 * number - 1] for number in (2, 3, 4)}
    assert minutes[3] > minutes[2]
    assert minutes[4] <= 0.9 * 80 * 1.1**4


def test_a_lower_rate_at_which_live_still_works_off_its_lag_is_not_marked() -> None:
    run = Run().at(80)
    run.ticks(20, sight(PRESSED))
    assert run.state.rate < 40 * MB
    assert run.state.bad == 80 * MB


def test_the_lowest_rate_is_never_marked() -> None:
    run = Run().at(1)
    run.tick(sight(PRESSED))
    assert run.state.bad is None
    assert run.state.rate == MB


def test_a_lost_signal_holds_after_15_s_then_gives_the_lowest_rate_then_no_slice_begins() -> None:
    run = Run().at(50)
    seen = {seconds: run.tick(sight(CALM, lost={"group": float(seconds)})) for seconds in (10, 20, 31, 301)}
    assert [(each.bytes_per_second / MB, each.paused) for each in seen.values()] == [
        (50, False),
        (50, False),
        (1, False),
        (1, True),
    ]
    assert "group could not be read for 20 s" in seen[20].reason
    assert seen[301].alert


def test_a_lost_signal_stops_every_raise() -> None:
    assert Run().ticks(30, sight(CALM, lost={"group": 16.0})) == [5] * 30


def test_after_a_lost_signal_it_resumes_by_itself() -> None:
    run = Run().at(50)
    run.ticks(3, sight(CALM, lost={"group": 301.0}))
    decided = run.tick(sight(CALM))
    assert (decided.paused, decided.bytes_per_second) == (False, MB)
    assert run.ticks(40, sight(CALM))[-1] > 50


def test_what_can_still_be_read_counts_while_a_signal_is_lost() -> None:
    assert Run().at(50).ticks(1, sight(CRITICAL, lost={"group": 16.0})) == [1]


def test_a_signal_that_was_never_read_has_60_s() -> None:
    run = Run()
    seen = [Sight(lost={"group": 5.0 * number}) for number in range(1, 14)]
    assert [run.tick(each).bytes_per_second / MB for each in seen] == [5] * 11 + [1, 1]


def test_a_broker_metric_that_stops_lets_no_slice_begin() -> None:
    run = Run().at(50)
    decided = run.tick(sight(CALM, stop="broker metric under-min-isr is over its target"))
    assert (decided.paused, decided.bytes_per_second) == (True, MB)
    assert not run.tick(sight(CALM)).paused


def test_it_does_not_rise_while_too_few_commits_followed_a_reduction() -> None:
    assert Run().ticks(12, sight(CALM, undecided=True)) == [5] * 12


def test_it_never_goes_below_the_lowest_rate() -> None:
    assert min(Run().at(2).ticks(100, sight(PRESSED))) == 1


def test_the_reason_names_the_worst_signal_with_its_values() -> None:
    run = Run().at(50)
    decided = run.tick(Sight((Pressure("lag", 41.0, 10.0, " s"), Pressure("latency", 1.0, 2.0, " s"))))
    assert decided.reason.startswith("live lag 41 s, target 10 s")
