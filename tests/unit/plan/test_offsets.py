"""Event time to offsets, against brute force: whatever the order, no event of the range lies outside the plan."""

from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fixtures.properties import examples
from tests.unit.plan.world import JUNE, Log, Record, milliseconds

from anabranch.plan.offsets.completeness import missing, moments_of
from anabranch.plan.offsets.ranges import EndsBy, offsets_by_slack, timestamp_bounds
from anabranch.plan.offsets.zones import NO_MAP
from anabranch.plan.ports import SourceFacts
from anabranch.plan.target_range import EPOCH, Grain, TimeAxis, widen

MINUTE = timedelta(minutes=1)
MILLISECOND = timedelta(milliseconds=1)
AXIS = TimeAxis("at", Grain.HOUR)


# The extremes are where it goes wrong, so they come often.
BACK = st.sampled_from([0, 0, 37, 100])
OFF = st.sampled_from([-100, -100, 0, 63, 100])
STEPS = st.lists(st.tuples(st.sampled_from([0, 1, 15, 60]), BACK, OFF, st.integers(0, 19)), min_size=4, max_size=40)


def topic(slack: timedelta, steps: list[tuple[int, int, int, int]]) -> Log:
    """A partition whose timestamps run backwards by up to the slack, with events within the slack of them.

    Markers carry the time of a commit, which is now, however old the records are.
    """
    records, high = [], JUNE
    for minutes, back, off, marker in steps:
        if marker == 0:
            records.append(Record(milliseconds(JUNE + timedelta(days=365)), marker=True))
        high += minutes * MINUTE
        stamped = milliseconds(high) - slack // MILLISECOND * back // 100
        records.append(Record(stamped, EPOCH + stamped * MILLISECOND + slack * off / 100))
    return Log(records)


TOPICS = st.sampled_from([1, 20, 60, 90]).flatmap(
    lambda minutes: STEPS.map(lambda steps: (topic(minutes * MINUTE, steps), minutes * MINUTE))
)


def in_range(log: Log, start: datetime, end: datetime) -> set[int]:
    return {at for at, each in enumerate(log.records) if each.event is not None and start <= each.event < end}


@given(TOPICS, st.integers(-3, 8), st.integers(1, 3), st.none() | st.integers(0, 50), st.none() | st.integers(1, 3))
@settings(max_examples=examples(500, 10_000), deadline=None)
def test_every_event_of_the_range_below_live_is_in_the_plan(
    topic: tuple[Log, timedelta], hour: int, hours: int, live: int | None, samples: int | None
) -> None:
    log, slack = topic
    partitions = widen(AXIS, JUNE + hour * 60 * MINUTE, JUNE + (hour + hours) * 60 * MINUTE)
    asked = timestamp_bounds(partitions, slack, everything=False)
    position = None if live is None else min(live, len(log.records))
    # A reader saw some of the records after the end, or none; the plan must hold with whatever it saw.
    found = offsets_by_slack(log.facts(asked, samples), asked, slack, position)
    wanted = {at for at in in_range(log, partitions.start, partitions.end) if position is None or at < position}
    assert wanted <= set(range(found.start, found.end))
    assert found.start <= found.end
    assert position is None or found.end <= max(position, found.start)


@given(TOPICS, st.integers(0, 8), st.integers(1, 20))
@settings(max_examples=examples(300, 5_000), deadline=None)
def test_what_retention_took_is_told_whenever_it_may_have_been_in_the_range(
    topic: tuple[Log, timedelta], hour: int, gone: int
) -> None:
    log, slack = topic
    log = Log(log.records, min(gone, len(log.records)))
    partitions = widen(AXIS, JUNE + hour * 60 * MINUTE, JUNE + (hour + 2) * 60 * MINUTE)
    asked = timestamp_bounds(partitions, slack, everything=False)
    source = SourceFacts("t", "u", {0: log.facts(asked)}, None, None)
    lost = {at for at in in_range(log, partitions.start, partitions.end) if at < log.gone}
    if lost:
        told = missing(source, asked, slack, {}, NO_MAP, moments_of(partitions))
        assert [each.before for each in told] == [log.gone]


def test_a_lost_record_may_have_been_later_than_the_first_one_kept() -> None:
    """The record of minute -10 is gone, and its event may have been of minute 10, though the first kept is older."""
    log, slack = Log(log_of(-100, -10, -29, 20).records, gone=2), 20 * MINUTE
    partitions = widen(AXIS, JUNE + 12 * MINUTE, JUNE + 60 * MINUTE)
    asked = timestamp_bounds(partitions, slack, everything=False)
    source = SourceFacts("t", "u", {0: log.facts(asked)}, None, None)
    assert [each.before for each in missing(source, asked, slack, {}, NO_MAP, moments_of(partitions))] == [2]


def log_of(*minutes: int) -> Log:
    return Log([Record(milliseconds(JUNE + each * MINUTE), JUNE + each * MINUTE) for each in minutes])


def reach_of(
    log: Log, slack: timedelta, *, samples: int | None = 100, live: int | None = None
) -> tuple[int, int, EndsBy]:
    """Of the first hour of June."""
    asked = timestamp_bounds(widen(AXIS, JUNE, JUNE + 60 * MINUTE), slack, everything=False)
    found = offsets_by_slack(log.facts(asked, samples), asked, slack, live)
    return found.start, found.end, found.by


def test_an_ordered_partition_is_cut_on_both_sides() -> None:
    log = log_of(*range(-200, 300, 10))
    assert reach_of(log, 10 * MINUTE) == (19, 28, EndsBy.TIME)


def test_a_late_event_behind_an_early_one_is_not_missed() -> None:
    """One slack at the end would stop at the record of minute 75, before the event of minute 59 that came after it."""
    log = log_of(0, 30, 75, 59, 200)
    start, end, by = reach_of(log, 15 * MINUTE)
    assert (start, end, by) == (0, 4, EndsBy.TIME)


def test_a_timestamp_far_ahead_is_not_believed() -> None:
    log = log_of(0, 10, 100_000, 20, 30)
    assert reach_of(log, 5 * MINUTE) == (0, 5, EndsBy.DOUBT)


def test_an_end_that_nobody_could_read_is_not_believed() -> None:
    assert reach_of(log_of(0, 10, 500, 510), 5 * MINUTE, samples=None) == (0, 4, EndsBy.DOUBT)


def test_a_marker_is_no_end() -> None:
    records = list(log_of(0, 10, 20, 30, 40).records)
    records.insert(2, Record(milliseconds(JUNE + timedelta(days=300)), marker=True))
    assert reach_of(Log(records), 5 * MINUTE) == (0, 6, EndsBy.DOUBT)


def test_a_marker_just_before_a_late_record_is_a_good_end() -> None:
    records = list(log_of(0, 10, 500).records)
    records.insert(2, Record(milliseconds(JUNE + 499 * MINUTE), marker=True))
    assert reach_of(Log(records), 5 * MINUTE) == (0, 2, EndsBy.TIME)


def test_no_match_at_the_end_is_the_end_of_the_partition() -> None:
    assert reach_of(log_of(0, 10, 20), 5 * MINUTE) == (0, 3, EndsBy.LOG)


def test_no_match_at_the_start_is_nothing() -> None:
    assert reach_of(log_of(-500, -400), 5 * MINUTE) == (2, 2, EndsBy.LOG)


def test_live_caps_the_end_and_may_leave_nothing() -> None:
    log = log_of(-100, 0, 10, 20)
    assert reach_of(log, 5 * MINUTE, live=3) == (1, 3, EndsBy.LIVE)
    assert reach_of(log, 5 * MINUTE, live=0) == (1, 1, EndsBy.LIVE)
