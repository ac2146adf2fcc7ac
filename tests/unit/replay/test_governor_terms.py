"""What the governor of one replay goes by."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.unit.replay.test_replayer import PLAN

from anabranch.plan.forecast.rehearsed import STAGES, Rehearsed
from anabranch.plan.slices import Slice
from anabranch.project.sections.governor import GovernorSettings
from anabranch.replay.governor_terms import law_of, rehearsed_baseline, seconds_alone
from anabranch.runs.states import State

DEFAULTS = GovernorSettings()
REHEARSED = Rehearsed(
    1e5, 20e6, 1.0, 1.0, 1.0, 1.0, 10, 5, 3.0, 1.5, "write", 10, 10, 0.1, 0.1, 10.0, 2, dict.fromkeys(STAGES, 1.0), None
)


def test_the_reference_is_the_rehearsed_rate() -> None:
    assert law_of(DEFAULTS, REHEARSED).start == 1e6
    assert law_of(DEFAULTS, replace(REHEARSED, bytes_per_second=100e6)).start == 5e6


def test_without_a_rehearsal_it_is_that_of_the_context() -> None:
    assert law_of(DEFAULTS, None).start == 2e6


@pytest.mark.parametrize(("rate", "reference"), [(1e6, 40e6), (60e6, 60e6)])
def test_a_rehearsal_under_a_limit_does_not_lower_it(rate: float, reference: float) -> None:
    limited = replace(REHEARSED, bytes_per_second=rate, bytes_per_second_limit=1_000_000)
    assert law_of(DEFAULTS, limited).reference == reference


def test_what_the_rehearsal_saw_of_live_alone_is_the_baseline() -> None:
    assert rehearsed_baseline(REHEARSED).latency == 1.5
    assert rehearsed_baseline(replace(REHEARSED, live_latency_without=None)).latency is None


def test_only_a_long_replay_waits_for_a_baseline() -> None:
    long = replace(PLAN, slices=(Slice("s00000", {0: (0, 1_000_001)}),))
    assert seconds_alone(DEFAULTS, PLAN, State.PLANNED) == 0.0
    assert seconds_alone(DEFAULTS, long, State.PLANNED) == DEFAULTS.alone / timedelta(seconds=1)


def test_a_promotion_that_catches_up_with_live_does_not_wait() -> None:
    long = replace(PLAN, slices=(Slice("s00000", {0: (0, 1_000_001)}),))
    assert seconds_alone(DEFAULTS, long, State.VALIDATED) == 0.0
