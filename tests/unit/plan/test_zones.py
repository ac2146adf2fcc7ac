"""Zones: every offset counted, the same facts in fewer zones, and spans that may widen and never narrow."""

from __future__ import annotations

import random

from anabranch.plan.zone_summary import moment_text, summarise
from anabranch.plan.zones import BLOCK, HOUR, MOST_SPANS, Group, Span, Zone, combine, zones_of


def group(block: int, count: int, low: int | None, high: int | None, partition: int = 0) -> Group:
    return Group(partition, block, count, 0, 10 * count, low, high, 1, 2)


def zone(start: int, end: int, *spans: Span, nulls: int = 0) -> Zone:
    count = nulls + sum(span.count for span in spans)
    return Zone(0, start, end, count, 10 * count, nulls, spans, 1 if count else None, 2 if count else None)


def test_all_offsets_that_were_read_are_counted_also_those_without_a_record() -> None:
    groups = [group(1, 3, 5, 9), group(1, 2, None, None), group(4, 1, HOUR, HOUR)]
    assert zones_of({0: (BLOCK + 10, 9 * BLOCK), 1: (5, 7)}, groups) == (
        zone(BLOCK + 10, 2 * BLOCK, Span(5, 9, 3), nulls=2),
        zone(2 * BLOCK, 4 * BLOCK),
        zone(4 * BLOCK, 5 * BLOCK, Span(HOUR, HOUR, 1)),
        zone(5 * BLOCK, 9 * BLOCK),
        Zone(1, 5, 7, 0, 0, 0, (), None, None),
    )


def test_neighbours_of_a_block_become_one_and_repetitions_go() -> None:
    parts = [zone(0, 10, Span(1, 2, 10)), zone(10, 20, Span(0, HOUR, 9), nulls=1), zone(5, 9, Span(1, 1, 4))]
    (found,) = combine([*parts, *parts])
    assert found == zone(0, 20, Span(0, HOUR, 19), nulls=1)


def test_blocks_stay_apart_unless_both_are_empty() -> None:
    filled = [zone(0, BLOCK, Span(1, 1, 4)), zone(BLOCK, 2 * BLOCK, Span(1, 1, 4))]
    assert combine(filled) == tuple(filled)
    assert combine([zone(0, BLOCK), zone(BLOCK, 5 * BLOCK)]) == (zone(0, 5 * BLOCK),)


def test_of_two_counts_of_the_same_offsets_the_later_one_stays_which_has_fewer_records() -> None:
    before, after = zone(0, BLOCK, Span(1, 900, 100)), zone(0, BLOCK, Span(7, 8, 3))
    assert combine([before, after]) == combine([after, before]) == (after,)


def test_spans_are_joined_where_they_are_nearest_and_lose_no_moment() -> None:
    chance = random.Random(1)
    moments = [chance.choice((-(2**62), 0, 2**62)) + chance.randrange(10**6) * HOUR for _ in range(100)]
    (found,) = zones_of({0: (0, BLOCK)}, [group(0, 1, at, at) for at in moments])
    assert len(found.spans) == MOST_SPANS
    assert sum(span.count for span in found.spans) == 100
    assert all(found.touches(at, at + 1) for at in moments)
    assert list(found.spans) == sorted(found.spans, key=lambda span: span.low)


def test_the_summary_tells_coverage_and_lateness() -> None:
    zones = [
        zone(0, 50, Span(0, HOUR - 1, 40), nulls=10),
        zone(50, 80, Span(5 * HOUR, 5 * HOUR, 30), Span(2**62, 2**62, 1)),
        zone(80, 90, Span(0, 10, 2), Span(5 * HOUR, 5 * HOUR, 8)),
    ]
    (found,) = summarise({0: (20, 100)}, zones)
    assert (found.offsets, found.counted, found.records, found.nulls) == (80, 70, 91, 10)
    assert (found.late, found.latest_by) == (2, 5 * HOUR)
    assert (moment_text(found.first), moment_text(found.last)) == ("1970-01-01T00:00:00Z", f"{2**62} µs")


def test_a_partition_without_zones_is_told_too() -> None:
    (found,) = summarise({3: (0, 10)}, [])
    assert (found.partition, found.counted, found.first, found.latest_by) == (3, 0, None, 0)
