"""What a topic's answers mean for planning: which records are read, what is known of the end, and what is not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.adapters.kafka.facts import PROBES, _markers_seen, _settings, _TimestampOffsets
from anabranch.adapters.kafka.sample import Records
from anabranch.plan.ports import OffsetAtTime, TopicSettings

SETTINGS = {
    "cleanup.policy": "delete",
    "retention.ms": "604800000",
    "retention.bytes": "-1",
    "message.timestamp.type": "CreateTime",
}


def at(offset: int) -> OffsetAtTime:
    """One record a millisecond."""
    return OffsetAtTime(offset, 1000 + offset)


def run(start: int, *offsets: int) -> tuple[OffsetAtTime, ...]:
    return tuple(at(start + each) for each in offsets)


def places(
    *,
    earliest: int = 0,
    latest: int = 100,
    watermark: int | None = None,
    first: int | None = 0,
    at_start: int | None = None,
    at_end: int | None = None,
) -> _TimestampOffsets:
    """Of one partition; None: the lookup found no such record."""

    def told(offset: int | None) -> Mapping[int, OffsetAtTime]:
        return {} if offset is None else {0: at(offset)}

    return _TimestampOffsets(
        earliest={0: earliest},
        latest={0: latest},
        watermark={0: latest if watermark is None else watermark},
        first=told(first),
        at_start=told(at_start),
        at_end=told(at_end),
    )


# Settings.


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, TopicSettings(frozenset({"delete"}), 604_800_000, None, "CreateTime")),
        ({"retention.ms": "-1"}, TopicSettings(frozenset({"delete"}), None, None, "CreateTime")),
        ({"retention.bytes": "5"}, TopicSettings(frozenset({"delete"}), 604_800_000, 5, "CreateTime")),
        ({"retention.ms": "0"}, TopicSettings(frozenset({"delete"}), 0, None, "CreateTime")),
        ({"cleanup.policy": "compact"}, TopicSettings(frozenset({"compact"}), None, None, "CreateTime")),
        (
            {"cleanup.policy": "compact, delete", "message.timestamp.type": "LogAppendTime"},
            TopicSettings(frozenset({"compact", "delete"}), 604_800_000, None, "LogAppendTime"),
        ),
        ({"cleanup.policy": ""}, TopicSettings(frozenset(), None, None, "CreateTime")),
    ],
)
def test_retention_counts_only_where_the_topic_deletes(changes: dict[str, str], expected: TopicSettings) -> None:
    assert _settings({**SETTINGS, **changes}) == expected


def test_settings_that_are_not_shown_are_none() -> None:
    assert _settings(None) is None


# Where records are read.


@pytest.mark.parametrize(
    ("lookups", "begins"),
    [
        ({"first": 3, "at_start": 40}, {0: (40, 100)}),
        ({"first": 3}, {0: (3, 100)}),
        ({"first": None}, {}),
        ({"first": 3, "at_start": 100}, {}),
        ({"first": 100}, {}),
    ],
)
def test_the_first_records_to_be_read_are_looked_at(
    lookups: dict[str, int | None], begins: dict[int, tuple[int, int]]
) -> None:
    assert places(**lookups).begins() == begins  # type: ignore[arg-type]


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_records_after_the_end_are_looked_at_from_the_end_to_the_last(end: int, more: int) -> None:
    spans = [places(latest=end + more, at_end=end).from_end_on(probe) for probe in range(PROBES)]
    if more == 0:
        assert spans == [{}] * PROBES
        return
    starts = [span[0][0] for span in spans]
    assert starts[0] == end
    assert starts == sorted(starts)
    assert all(end <= start < end + more for start in starts)
    assert {span[0][1] for span in spans} == {end + more}
    gaps = [after - before for before, after in zip(starts, [*starts[1:], end + more], strict=True)]
    assert max(gaps) - min(gaps) <= 1, "evenly spread"


def test_without_an_end_nothing_is_looked_at_after_it() -> None:
    assert places(at_end=None).from_end_on(0) == {}


# What is known then.


def test_the_records_of_all_places_are_one_list_in_order() -> None:
    samples: list[Records] = [{0: run(50, 0, 1)}, {0: run(60, 0)}, {0: run(50, 1, 2)}, {0: ()}]
    facts = places(earliest=5, latest=90, watermark=95, first=6, at_start=20, at_end=50).facts(0, samples, 700)
    assert facts.after_end == (at(50), at(51), at(52), at(60))
    assert (facts.earliest, facts.latest, facts.high_watermark, facts.size) == (5, 90, 95, 700)
    assert (facts.first, facts.at_start, facts.at_end) == (at(6), at(20), at(50))


@pytest.mark.parametrize("silent", range(PROBES))
def test_one_place_that_could_not_be_read_leaves_the_end_unknown(silent: int) -> None:
    samples: list[Records] = [{} if probe == silent else {0: run(50, probe)} for probe in range(PROBES)]
    assert places(at_end=50).facts(0, samples, None).after_end is None


def test_lookups_that_found_nothing_are_told_as_nothing() -> None:
    facts = places(first=None).facts(0, [{0: ()}] * PROBES, None)
    assert (facts.first, facts.at_start, facts.at_end, facts.size, facts.after_end) == (None, None, None, None, ())


def test_an_open_transaction_holds_back_what_readers_may_reach() -> None:
    assert places(latest=90, watermark=95).has_open_transaction
    assert not places(latest=90, watermark=90).has_open_transaction


# Markers.

DELETES = TopicSettings(frozenset({"delete"}), None, None, "CreateTime")
COMPACTS = TopicSettings(frozenset({"compact", "delete"}), None, None, "CreateTime")


@pytest.mark.parametrize(
    ("offsets", "settings", "seen"),
    [
        ((0, 1, 2), DELETES, False),
        ((0, 1, 3), DELETES, True),
        ((0, 1, 3), COMPACTS, False),
        ((0, 1, 3), None, False),
        ((), DELETES, False),
        ((7,), DELETES, False),
    ],
)
def test_an_offset_that_is_missing_among_records_is_a_marker_unless_it_was_compacted(
    offsets: tuple[int, ...], settings: TopicSettings | None, seen: bool
) -> None:
    assert _markers_seen([{0: run(0, 0, 1)}, {0: run(10, *offsets)}], settings) is seen


def test_what_lies_between_two_reads_or_partitions_says_nothing() -> None:
    assert not _markers_seen([{0: run(0, 0, 1), 1: run(50, 0)}, {0: run(20, 0, 1)}], DELETES)
