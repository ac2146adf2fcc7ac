"""How much a rehearsal reads under a byte rate, how long it rests, and which plan can't be rehearsed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.plan.world import World, hourly

from anabranch.readiness.rehearse import (
    LEAST_REST,
    MOST_REST,
    MOST_SECONDS,
    RehearsalImpossibleError,
    most_offsets,
    require_rehearsable,
    rest_after,
)


def test_under_a_byte_rate_as_much_is_read_as_a_minute_takes() -> None:
    assert most_offsets(1000, 100.0) == 10 * MOST_SECONDS
    assert most_offsets(1, 1e9) == 1, "one at least"


@pytest.mark.parametrize(("rate", "size"), [(None, 100.0), (1000, None), (1000, 0.0)])
def test_without_a_rate_or_a_known_size_there_is_no_limit(rate: int | None, size: float | None) -> None:
    assert most_offsets(rate, size) is None


@pytest.mark.parametrize(("burst", "rest"), [(0.01, LEAST_REST), (4.0, 4.0), (900.0, MOST_REST)])
def test_the_replay_rests_as_long_as_the_burst_took_within_limits(burst: float, rest: float) -> None:
    assert rest_after(burst) == rest


def test_a_replay_as_a_stream_is_refused(world: World) -> None:
    plan = world.plan([hourly(60)]).plan
    require_rehearsable(plan)
    with pytest.raises(RehearsalImpossibleError, match="stream-faithful") as refused:
        require_rehearsable(replace(plan, stream=object()))  # type: ignore[arg-type]
    assert "batch-exact" in refused.value.remedy
