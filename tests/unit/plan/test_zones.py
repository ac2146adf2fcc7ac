"""Zones: every offset counted, the same facts in fewer zones, and spans that may widen and never narrow."""

from __future__ import annotations

import random

from anabranch.plan.offsets.zone_spans import CELL, HOUR, MOST_SPANS, ZoneSpan
from anabranch.plan.offsets.zone_summary import moment_text, summarise
from anabranch.plan.offsets.zones import BLOCK, EventGroup, Zone, combine, zones_of


def group(first: int, last: int, count: int, low: int | None, high: int | None, partition: int = 0) -> EventGroup:
    return EventGroup(partition, first, last, count, 0, 10 * count, low, high, 1, 2)


def zone(start: int, end: int, *spans: tuple[int, ...], nulls: int = 0) -> Zone:
    """Of spans (low, high, count), which may be anywhere in it, or (low, high, count, start, end)."""
    made = tuple(ZoneSpan(*(span if len(span) == 5 else (*span, start, end))) for span in spans)
    count = nulls + sum(span.count for span in made)
    return Zone(0, start, end, count, 10 * count, nulls, made, 1 if count else None, 2 if count else None)


def hourly(start: int, end: int, each: int) -> Zone:
    """An hour has so many events, in order."""
    spans = (
        (hour * HOUR, (hour + 1) * HOUR - 1, min(end, (hour + 1) * each) - max(start, hour * each))
        for hour in range(start // each, -(-end // each))
    )
    at = ((max(start, hour * each), min(end, (hour + 1) * each)) for hour in range(start // each, -(-end // each)))
    return zone(start, end, *((*span, *place) for span, place in zip(spans, at, strict=True)))


def test_all_offsets_that_were_read_are_counted_also_those_without_a_record() -> None:
    first, later = BLOCK + 20, 4 * BLOCK + 3 * CELL
    groups = [group(first, first + 8, 3, 5, 9), group(first, first, 2, None, None), group(later, later, 1, HOUR, HOUR)]
    assert zones_of({0: (BLOCK + 10, 9 * BLOCK), 1: (5, 7)}, groups) == (
        zone(BLOCK + 10, 2 * BLOCK, (5, 9, 3, first, first + 9), nulls=2),
        zone(2 * BLOCK, 4 * BLOCK),
        zone(4 * BLOCK, 5 * BLOCK, (HOUR, HOUR, 1, later, later + 1)),
        zone(5 * BLOCK, 9 * BLOCK),
        Zone(1, 5, 7, 0, 0, 0, (), None, None),
    )


def test_neighbours_of_a_block_become_one_and_repetitions_go() -> None:
    parts = [zone(0, 10, (1, 2, 10)), zone(10, 20, (0, HOUR, 9), nulls=1), zone(5, 9, (1, 1, 4))]
    (found,) = combine([*parts, *parts])
    assert found == zone(0, 20, (0, HOUR, 19), nulls=1)


def test_blocks_stay_apart_unless_both_are_empty() -> None:
    filled = [zone(0, BLOCK, (1, 1, 4)), zone(BLOCK, 2 * BLOCK, (1, 1, 4))]
    assert combine(filled) == tuple(filled)
    assert combine([zone(0, BLOCK), zone(BLOCK, 5 * BLOCK)]) == (zone(0, 5 * BLOCK),)


def test_of_two_counts_of_the_same_offsets_the_later_one_stays_which_has_fewer_records() -> None:
    before, after = zone(0, BLOCK, (1, 900, 100)), zone(0, BLOCK, (7, 8, 3))
    assert combine([before, after]) == combine([after, before]) == (after,)
    halves = [hourly(0, BLOCK // 2, 100), hourly(BLOCK // 2, BLOCK, 100)]
    assert combine([*halves, after]) == (after,)


def test_zones_that_are_more_exact_replace_one_of_the_same_records() -> None:
    coarse = zone(0, BLOCK, *((hour * HOUR, hour * HOUR + 9, 256) for hour in range(MOST_SPANS)))
    fine = [hourly(start, start + BLOCK // 4, 256) for start in range(0, BLOCK, BLOCK // 4)]
    assert combine([coarse, *fine]) == combine(fine)
    assert combine([coarse, *fine[1:]]) == (coarse,), "they don't count all of it"


def test_a_zone_ends_where_the_hours_have_moved_on() -> None:
    apart = [hourly(0, 280, 40), hourly(280, 560, 40)]
    assert combine(apart) == tuple(apart)
    assert len(combine([apart[0], hourly(280, 300, 40)])) == 1, "while the spans are few they are one zone"
    back = zone(280, 400, *((hour * HOUR + 5, hour * HOUR + 5, 20, 280, 400) for hour in range(7)))
    assert len(combine([apart[0], back])) == 1, "hours that were there before cut nothing"


def test_events_of_an_hour_that_stand_far_apart_are_two_spans() -> None:
    near, far = group(10, 20, 11, 0, 9), group(20 + CELL, 20 + CELL, 1, 5, 5)
    (found,) = zones_of({0: (0, BLOCK)}, [near, far])
    assert found.spans == (ZoneSpan(0, 9, 12, 10, 21 + CELL),)
    (found,) = zones_of({0: (0, BLOCK)}, [near, group(21 + CELL, 21 + CELL, 1, 5, 5)])
    assert found.spans == (ZoneSpan(0, 9, 11, 10, 21), ZoneSpan(5, 5, 1, 21 + CELL, 22 + CELL))
    assert found.held(5, 6) == ((10, 21), (21 + CELL, 22 + CELL))
    assert found.held(10, 11) == ()


def test_spans_are_joined_where_it_costs_least_and_lose_no_moment() -> None:
    chance = random.Random(1)
    moments = [chance.choice((-(2**62), 0, 2**62)) + chance.randrange(10**6) * HOUR for _ in range(100)]
    (found,) = zones_of({0: (0, BLOCK)}, [group(at, at, 1, event, event) for at, event in enumerate(moments)])
    assert len(found.spans) == MOST_SPANS
    assert sum(span.count for span in found.spans) == 100
    for at, event in enumerate(moments):
        assert any(start <= at < end for start, end in found.held(event, event + 1))
    assert list(found.spans) == sorted(found.spans, key=lambda span: span.low)
    assert max(span.high - span.low for span in found.spans) < 10**6 * HOUR, "near ones were joined"


def test_the_summary_tells_coverage_and_lateness() -> None:
    zones = [
        zone(0, 50, (0, HOUR - 1, 40), nulls=10),
        zone(50, 80, (5 * HOUR, 5 * HOUR, 30), (2**62, 2**62, 1)),
        zone(80, 90, (0, 10, 2), (5 * HOUR, 5 * HOUR, 8)),
    ]
    (found,) = summarise({0: (20, 100)}, zones)
    assert (found.offsets, found.counted, found.records, found.nulls) == (80, 70, 91, 10)
    assert (found.late, found.latest_by) == (2, 5 * HOUR)
    assert (moment_text(found.first), moment_text(found.last)) == ("1970-01-01T00:00:00Z", f"{2**62} µs")


def test_a_partition_without_zones_is_told_too() -> None:
    (found,) = summarise({3: (0, 10)}, [])
    assert (found.partition, found.counted, found.first, found.latest_by) == (3, 0, None, 0)
