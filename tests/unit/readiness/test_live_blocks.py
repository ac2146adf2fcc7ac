"""What live did in each block: by arrival, without the dropped part, and which blocks do not count."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log

import pytest

from anabranch.gates.impact.design import Design
from anabranch.gates.impact.measured import Impact, MeasuredBlock, lag_words, latency_words, read_impact
from anabranch.readiness.live_blocks import BlockSpan, longest_batch, measure_blocks
from anabranch.readiness.live_samples import LiveSample

ON = BlockSpan(1, 1, on=True, start=5, end=20, bytes=15_000_000, bytes_per_second=2_000_000)
OFF = BlockSpan(2, 1, on=False, start=25, end=40, bytes=0)


def every_second(position: dict[int, int], ends: dict[int, int], until: int = 50) -> list[LiveSample]:
    """One partition; `position` and `ends` name the second of each change."""
    samples, at, end = [], 100, 100
    for second in range(until):
        at, end = position.get(second, at), ends.get(second, end)
        samples.append(LiveSample(float(second), {0: end}, {0: at}, replaying=False))
    return samples


def test_latency_is_of_what_arrived_in_the_block_whenever_it_was_written() -> None:
    """On: arrived at 6, written at 10; arrived at 18, written in the next block, at 34. Off: arrived 30, written 34.

    What arrived at 3 is of the dropped part.
    """
    samples = every_second({10: 120, 34: 140}, {3: 110, 6: 120, 18: 130, 30: 140})
    on, off = measure_blocks([ON, OFF], samples, 1.0)
    assert on.latency == pytest.approx(exp((log(4) + log(16)) / 2))
    assert (on.latency_worst, on.arrivals) == (16, 2)
    assert (off.latency, off.arrivals) == (4, 1)
    assert (on.samples, on.lag_worst, off.lag_worst) == (15, 20, 20)
    assert on.lag == pytest.approx((10 + 4 * 20 + 8 * 0 + 2 * 10) / 15)
    assert (on.flaw, off.flaw) == (None, None)


def test_what_was_written_before_the_next_look_took_half_a_look() -> None:
    samples = every_second({6: 110}, {6: 110})
    on, _ = measure_blocks([ON, OFF], samples, 1.0)
    assert on.latency == 0.5


@pytest.mark.parametrize(
    ("spans", "looks", "flaw"),
    [
        ((replace(ON, bytes=0), OFF), 50, "the replay read nothing"),
        ((ON, replace(OFF, bytes=200_000)), 50, "the replay read 200,000 bytes"),
        ((ON, replace(OFF, bytes=100_000)), 50, None),
        ((ON, OFF), 28, "live was sampled 3 of 15 times"),
        ((replace(ON, flaw="held by the governor"), OFF), 50, "held by the governor"),
    ],
)
def test_a_block_that_was_not_what_it_should_be_does_not_count(
    spans: tuple[BlockSpan, BlockSpan], looks: int, flaw: str | None
) -> None:
    blocks = measure_blocks(spans, every_second({}, {}, looks), 1.0)
    assert next((each.flaw for each in blocks if each.flaw), None) == flaw


def test_the_longest_batch_is_the_longest_time_between_two_advances() -> None:
    assert longest_batch(every_second({3: 110, 8: 120, 20: 130}, {0: 200})) == 12
    assert longest_batch(every_second({3: 110}, {0: 200})) is None


def block(number: int, on: bool, latency: float | None, lag: float | None = 10.0, **changes: object) -> MeasuredBlock:
    pair = (number + 1) // 2
    made = MeasuredBlock(number, pair, on, 15.0, latency, latency, 30, lag, 20, 30, 15_000_000 if on else 0, None)
    return replace(made, **changes)  # type: ignore[arg-type]


def impact(*latencies: tuple[float | None, float | None]) -> Impact:
    """With and without, pair by pair."""
    blocks = [
        block(2 * pair + number, on, latency)
        for pair, both in enumerate(latencies)
        for number, on, latency in ((1, True, both[0]), (2, False, both[1]))
    ]
    return Impact(Design(len(latencies), 20.0, 5.0, 1), tuple(blocks), "replay", 0.5)


def test_an_effect_is_a_ratio_of_latencies_with_its_interval() -> None:
    found = impact(*((2.0 * factor, 2.0) for factor in (1.4, 1.5, 1.6, 1.5, 1.45, 1.55)))
    assert found.latency is not None
    assert found.latency.is_found
    assert exp(found.latency.low or 0) == pytest.approx(1.4)
    assert latency_words(found) == "Live latency × 1.50 with the replay (95 %: × 1.40 to × 1.60; 6 pairs)."
    assert lag_words(found).startswith("No effect on live lag found: +0 records (95 %: +0 to +0 records; 6 pairs).")


def test_no_effect_is_said_with_the_smallest_that_could_have_been_found() -> None:
    found = impact(*((2.0 * factor, 2.0) for factor in (1.1, 0.9, 1.05, 0.95, 1.2, 0.85)))
    words = latency_words(found)
    assert words.startswith("No effect on live latency found: × 1.00 (95 %: × 0.85 to × 1.20; 6 pairs).")
    assert "Smallest detectable effect: × 1.2" in words


def test_five_pairs_withhold_the_statement() -> None:
    words = latency_words(impact(*((3.0, 2.0),) * 5))
    assert words == "No 95 % statement on live latency: 5 pairs count, 6 are needed. Their mean is × 1.50."


def test_a_pair_counts_with_both_of_its_blocks_or_not_at_all() -> None:
    found = impact((3.0, 2.0), (None, 2.0), (3.0, 2.0))
    assert found.latency is not None
    assert found.latency.pairs == 2
    assert found.lag is not None
    assert found.lag.pairs == 3
    flawed = replace(found, blocks=(replace(found.blocks[0], flaw="read nothing"), *found.blocks[1:]))
    assert flawed.latency is not None
    assert flawed.latency.pairs == 1
    assert len(replace(found, blocks=found.blocks[:3]).pairs) == 1
    assert "unknown" in latency_words(impact((None, None)))


def test_latencies_below_one_look_hide_effects_below_one_look() -> None:
    found = impact(*((0.25, 0.25),) * 8)
    assert found.latency is not None
    assert exp(found.latency.detectable or 0) == pytest.approx(3.0), "half a second on a quarter of one"


def test_it_is_read_back_with_every_block() -> None:
    found = impact((3.0, 2.0), (None, 2.0))
    assert read_impact(found.document()) == found
