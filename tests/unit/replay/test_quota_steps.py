"""The next value of a quota: never below what is wanted, down by halves, and not for little."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.plan.quotas import FLOOR
from anabranch.replay.allowance import UNLIMITED, Allowance
from anabranch.replay.quota_steps import GOVERNED, STEP, next_value, wanted_value

MB = 1_000_000
RATES = st.integers(FLOOR, 10**9)


@pytest.mark.parametrize(
    ("current", "wanted", "expected"),
    [
        (None, 5 * MB, 5 * MB),
        (5 * MB, None, None),
        (5 * MB, 5 * MB, 5 * MB),
        (5 * MB, int(5.1 * MB), 6 * MB),
        (5 * MB, 9 * MB, 9 * MB),
        (5 * MB, int(4.5 * MB), 5 * MB),
        (5 * MB, 4 * MB, 4 * MB),
        (50 * MB, 1 * MB, 25 * MB),
    ],
)
def test_a_step(current: int | None, wanted: int | None, expected: int | None) -> None:
    assert next_value(current, wanted) == expected


@given(current=RATES, wanted=RATES)
def test_it_reaches_what_is_wanted_and_never_throttles_below_it(current: int, wanted: int) -> None:
    value, steps = current, 0
    while (following := next_value(value, wanted)) != value:
        assert following is not None
        assert following >= min(wanted, value)
        assert following >= value // 2, "a broker would send nothing for more than a window"
        value, steps = following, steps + 1
        assert steps <= 12
    assert wanted <= value <= max(wanted * STEP + 1, wanted + 1)


def test_without_a_rate_there_is_no_quota() -> None:
    assert wanted_value(UNLIMITED, {1: 1}) is None


def test_the_rate_of_a_contract_is_exact_and_a_governor_s_has_room() -> None:
    rate = 10 * MB
    assert wanted_value(Allowance("contract", "", rate), {1: 1, 2: 1}) == rate // 2
    assert wanted_value(Allowance("governor", "", rate), {1: 1, 2: 1}) == rate // 2 * GOVERNED
