"""The race against retention: time to loss by hand, the order by brute force, and every step of the ladder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from itertools import permutations
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.plan.offsets.intervals import union
from anabranch.plan.ports import OffsetAtTime
from anabranch.plan.retention.cutting import cut_by_expiry
from anabranch.plan.retention.decision import Extension, Options, RaceAnswer, RaceDecision, Share, decide
from anabranch.plan.retention.facts import PartitionLog, RetentionFacts, RetentionSettings
from anabranch.plan.retention.loss import LossBy, loss_of
from anabranch.plan.retention.planning import fixed_order
from anabranch.plan.retention.race import SAFETY, expiry_of, lateness, race_of, soonest_first
from anabranch.plan.retention.rate import observed_rate
from anabranch.plan.slices import Slice, cut, ranges_of
from anabranch.plan.strategies.strategy import Strategy
from anabranch.plan.target_range import EPOCH

NOW = datetime(2025, 7, 1, tzinfo=timezone.utc)
HOUR, DAY = 3600.0, 86400.0
ANY_ORDER, IN_ORDER = Options(None), Options("rows of a key depend on their order")


def ago(seconds: float) -> int:
    return round((NOW - EPOCH).total_seconds() * 1000 - seconds * 1000)


def settings(days: float | None = 7, size: int | None = None, **more: Any) -> RetentionSettings:
    return RetentionSettings(None if days is None else round(days * DAY * 1000), size, **more)


def aged(ages: Mapping[int, Iterable[tuple[int, float]]], kept: RetentionSettings) -> RetentionFacts:
    """Partitions of 100 offsets whose records at these offsets are so many seconds old."""
    logs = {
        p: PartitionLog(0, 100, tuple(OffsetAtTime(offset, ago(age)) for offset, age in marks))
        for p, marks in ages.items()
    }
    return RetentionFacts("shop.orders", NOW, kept, logs)


def expiring(left: Mapping[int, float]) -> RetentionFacts:
    """Partitions whose first records expire in so many seconds."""
    return aged({p: [(0, 7 * DAY - seconds)] for p, seconds in left.items()}, settings())


def of_partitions(*partitions: int, width: int = 10) -> list[Slice]:
    return [Slice(f"s{n}", {p: (0, width)}) for n, p in enumerate(partitions)]


def per_slice(seconds: float) -> Any:
    return lambda _: seconds


def test_a_record_is_lost_at_its_timestamp_plus_retention_ms_and_its_segment_later() -> None:
    facts = aged({0: [(10, 6 * DAY), (50, 2 * DAY)]}, settings(7, segment_ms=int(HOUR * 1000)))
    found = loss_of(facts, 0, 10)
    assert found is not None
    assert (found.seconds, found.at_latest, found.by) == (DAY, DAY + HOUR, LossBy.TIME)
    between = loss_of(facts, 0, 49)
    assert between is not None
    assert between.seconds == DAY, "between two marks, as old as the one before"


def test_a_record_behind_a_newer_one_is_kept_as_long_as_that() -> None:
    """Segments are deleted from the head, each once its newest record is old enough."""
    found = loss_of(aged({0: [(0, DAY), (50, 6 * DAY)]}, settings(7)), 0, 60)
    assert found is not None
    assert found.seconds == 6 * DAY


def test_a_record_is_lost_by_size_once_as_many_bytes_follow_as_are_kept() -> None:
    log = PartitionLog(100, 200, (), size=1000, bytes_per_second=2.0)
    facts = RetentionFacts("t", NOW, settings(None, 800, segment_bytes=100), {0: log})
    found = loss_of(facts, 0, 150)
    assert found is not None
    assert (found.seconds, found.at_latest, found.by) == ((800 - 500) / 2, (800 - 500 + 100) / 2, LossBy.SIZE)
    still = replace(facts, partitions={0: replace(log, bytes_per_second=0.0)})
    assert (loss_of(still, 0, 150) or found).seconds == inf, "nothing grows"


def test_the_limit_that_comes_first_counts_and_what_is_unknown_is_not_never() -> None:
    log = PartitionLog(0, 100, (OffsetAtTime(0, ago(6 * DAY)),), size=1000, bytes_per_second=100.0)
    facts = RetentionFacts("t", NOW, settings(7, 1100), {0: log})
    found = loss_of(facts, 0, 0)
    assert found is not None
    assert (found.seconds, found.by) == (1.0, LossBy.SIZE)
    for unknown in (
        replace(facts, settings=None),
        replace(facts, partitions={}),
        replace(facts, partitions={0: replace(log, marks=())}),
        replace(facts, partitions={0: replace(log, size=None)}),
        replace(facts, partitions={0: replace(log, bytes_per_second=None)}),
    ):
        assert loss_of(unknown, 0, 0) is None


def test_an_offset_before_the_first_one_is_gone_and_the_race_lost() -> None:
    facts = RetentionFacts("t", NOW, settings(), {0: PartitionLog(5, 100, (OffsetAtTime(5, ago(0)),))})
    found = loss_of(facts, 0, 4)
    assert found is not None
    assert found.by is LossBy.GONE
    decision = decide(of_partitions(0), per_slice(1), facts, ANY_ORDER, "a rehearsal")
    assert decision.answer is RaceAnswer.LOST
    assert "partition 0, offset 0 was deleted" in decision.words


times = st.integers(-50, 200).map(float)


@given(st.lists(st.tuples(times, st.integers(1, 40)), min_size=1, max_size=6))
def test_no_order_makes_the_greatest_lateness_smaller(slices: list[tuple[float, int]]) -> None:
    facts = expiring({p: left for p, (left, _) in enumerate(slices)})
    cuts = [Slice(f"s{p}", {p: (0, width)}) for p, (_, width) in enumerate(slices)]

    def late(order: Iterable[Slice]) -> float:
        """By hand: how much too late the latest slice is, each needing its width in seconds."""
        elapsed, worst = 0.0, -inf
        for slice_ in order:
            [(partition, (_, width))] = slice_.offsets.items()
            elapsed += SAFETY * width
            worst = max(worst, elapsed - slices[partition][0])
        return worst

    best = min(late(order) for order in permutations(cuts))
    found = soonest_first(cuts, facts)
    assert late(found) == pytest.approx(best)
    assert lateness(race_of(found, lambda each: each.width, facts)) == pytest.approx(best)
    decision = decide(cuts, lambda each: each.width, facts, ANY_ORDER, "hand")
    winnable = best <= 0 and all(left > 0 for left, _ in slices)
    assert (decision.answer in (RaceAnswer.ENOUGH_TIME, RaceAnswer.SOONEST_FIRST)) == winnable


def test_equal_slices_keep_their_order() -> None:
    slices = of_partitions(*range(5))
    assert list(soonest_first(slices, expiring(dict.fromkeys(range(5), HOUR)))) == slices


def test_the_safety_factor_is_what_makes_the_difference() -> None:
    for left, answer in ((14.9, RaceAnswer.LOST), (15.1, RaceAnswer.ENOUGH_TIME)):
        found = decide(of_partitions(0), per_slice(10), expiring({0: left}), ANY_ORDER, "a rehearsal")
        assert found.answer is answer, left


def ladder(options: Options, left: Mapping[int, float], seconds: float = 10) -> RaceDecision:
    return decide(of_partitions(*sorted(left)), per_slice(seconds), expiring(left), options, "a rehearsal")


WEEKS = Extension(round(14 * DAY * 1000))


def test_each_step_is_taken_only_where_those_before_it_lose() -> None:
    assert ladder(ANY_ORDER, {0: HOUR, 1: HOUR}).answer is RaceAnswer.ENOUGH_TIME
    sooner = ladder(replace(ANY_ORDER, extension=WEEKS), {0: HOUR, 1: 16})
    assert (sooner.answer, [each.id for each in sooner.order]) == (RaceAnswer.SOONEST_FIRST, ["s1", "s0"])
    share = Share(per_slice(5), "20.0 MB/s instead of 10.0 MB/s")
    faster = ladder(replace(ANY_ORDER, share=share, extension=WEEKS), {0: 9, 1: 16})
    assert faster.answer is RaceAnswer.MORE_SHARE
    assert "20.0 MB/s" in faster.words
    extended = ladder(replace(ANY_ORDER, extension=WEEKS), {0: 9, 1: 16})
    assert (extended.answer, extended.extend_to_ms) == (RaceAnswer.EXTENSION, WEEKS.up_to_ms)
    assert "14d" in extended.words
    assert ladder(ANY_ORDER, {0: 9, 1: 16}).answer is RaceAnswer.LOST


def test_where_the_order_is_fixed_it_stays_and_the_reason_is_given() -> None:
    found = ladder(IN_ORDER, {0: HOUR, 1: 16})
    assert (found.answer, [each.id for each in found.order]) == (RaceAnswer.LOST, ["s0", "s1"])
    assert any("rows of a key depend on their order" in step for step in found.steps)
    assert fixed_order(Strategy.REPLACE_RANGE) is None
    assert all(fixed_order(each) for each in Strategy if each is not Strategy.REPLACE_RANGE)


def test_an_extension_that_may_not_be_used_is_named_and_the_race_is_lost() -> None:
    found = ladder(replace(ANY_ORDER, extension=replace(WEEKS, withheld="it needs an approval")), {0: 9})
    assert (found.answer, found.extension_withheld) == (RaceAnswer.LOST, "it needs an approval")
    assert found.extend_to_ms is None
    useless = ladder(replace(ANY_ORDER, extension=Extension(round(7 * DAY * 1000), "it needs an approval")), {0: 9})
    assert useless.extension_withheld is None, "an approval would not help"


def test_no_extension_helps_against_a_limit_by_size() -> None:
    log = PartitionLog(0, 100, (OffsetAtTime(0, ago(0)),), size=1000, bytes_per_second=10.0)
    facts = RetentionFacts("t", NOW, settings(7, 1100), {0: log})
    found = decide(of_partitions(0), per_slice(60), facts, replace(ANY_ORDER, extension=WEEKS), "a rehearsal")
    assert found.answer is RaceAnswer.LOST
    assert any("retention.bytes" in step and "no extension" in step for step in found.steps)


def test_without_a_rate_only_what_may_be_deleted_at_any_moment_is_lost() -> None:
    assert decide(of_partitions(0), None, expiring({0: 1}), ANY_ORDER, None).answer is RaceAnswer.ENOUGH_TIME
    assert decide(of_partitions(0), None, expiring({0: 0}), ANY_ORDER, None).answer is RaceAnswer.LOST
    assert decide(of_partitions(0), None, expiring({0: -5}), ANY_ORDER, None).answer is RaceAnswer.LOST


def test_the_worst_partition_comes_first_by_its_tightest_slice() -> None:
    slices = [Slice("s0", {0: (0, 10), 1: (0, 10)}), Slice("s1", {0: (10, 20), 1: (10, 20)})]
    facts = aged({0: [(0, 6 * DAY), (10, 5 * DAY)], 1: [(0, 6.5 * DAY), (10, 6.5 * DAY)]}, settings())
    found = race_of(slices, per_slice(DAY / 10), facts)
    assert [(each.partition, each.slice_id) for each in found] == [(1, "s1"), (0, "s0")]
    document = found[0].document(NOW)
    assert document["seconds_to_loss"] == DAY / 2
    assert document["seconds_needed"] == pytest.approx(SAFETY * DAY / 5)
    assert document["headroom_seconds"] == pytest.approx(DAY / 2 - SAFETY * DAY / 5)
    assert document["expires_at"] == "2025-07-01T12:00:00.000000Z"


ranges = st.dictionaries(
    st.integers(0, 3),
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), min_size=1, max_size=3).map(
        lambda spans: union([(start, start + width) for start, width in spans])
    ),
    min_size=1,
)


@given(ranges, st.integers(1, 40), st.dictionaries(st.integers(0, 3), times, min_size=4))
def test_a_cut_by_expiry_has_every_offset_once_in_the_order_of_loss(
    wanted: dict[int, tuple[tuple[int, int], ...]], size: int, left: dict[int, float]
) -> None:
    facts = expiring(left)
    found = cut_by_expiry(wanted, size, facts)
    assert ranges_of(found) == wanted
    assert sum(each.width for each in found) == sum(end - start for each in wanted.values() for start, end in each)
    assert len({each.id for each in found}) == len(found)
    expiries = [expiry_of(each, facts) for each in found]
    assert expiries == sorted(expiries)


def test_a_cut_by_expiry_wins_where_shares_lose() -> None:
    """Partition 1 expires in half the time that all takes: a share of both in each slice is too late for its end."""
    wanted = {0: ((0, 100),), 1: ((0, 100),)}
    facts = expiring({0: DAY, 1: 1.6 * 100})
    shares, by_expiry = cut(wanted, 50), cut_by_expiry(wanted, 50, facts)
    assert decide(shares, lambda each: each.width, facts, ANY_ORDER, "hand").answer is RaceAnswer.LOST
    assert decide(by_expiry, lambda each: each.width, facts, ANY_ORDER, "hand").answer is RaceAnswer.ENOUGH_TIME
    assert [sorted(each.offsets) for each in by_expiry] == [[1], [1], [0], [0]]


def test_where_all_expire_alike_a_slice_has_a_part_of_every_partition() -> None:
    wanted = dict.fromkeys(range(4), ((0, 100),))
    marks = [(offset, 6 * DAY - offset) for offset in range(0, 100, 5)]
    found = cut_by_expiry(wanted, 40, aged(dict.fromkeys(range(4), marks), settings()))
    assert {tuple(sorted(each.offsets)) for each in found} == {(0, 1, 2, 3)}
    assert len(found) == 10


def test_the_rate_of_a_replay_counts_its_waits_and_is_unknown_before_the_first_slice() -> None:
    assert observed_rate(0, 10.0, 0) is None
    rate = observed_rate(200, 10.0, 2)
    assert rate is not None
    assert rate.seconds(Slice("s", {0: (0, 100)})) == 5.0
