"""Event time to offsets by the zone map, against brute force: no event of the range is ever missed."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from statistics import median

import pytest
from tests.unit.plan.world import AXIS, JUNE, milliseconds

from anabranch.plan.offsets.completeness import (
    BRIDGED,
    FEW,
    MicrosRange,
    Proof,
    Reading,
    missing,
    moments_of,
    reading_of,
)
from anabranch.plan.offsets.intervals import common, union, width, without
from anabranch.plan.offsets.ranges import EndsBy, offsets_by_slack, timestamp_bounds
from anabranch.plan.offsets.zone_spans import CELL, HOUR, ZoneSpan
from anabranch.plan.offsets.zones import BLOCK, NO_MAP, EventGroup, PartitionZones, Zone, ZoneMap, combine, zones_of
from anabranch.plan.ports import OffsetAtTime, PartitionFacts, SourceFacts, TimestampBounds
from anabranch.plan.target_range import EPOCH, Grain, TimeAxis, widen

CASES = 10_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
ABSURD = (2**63 - 1, -(2**62), -1, 0, 9_223_372_036_854_775_000, 292_000_000 * 365 * 24 * HOUR // 1000)
SLACK = timedelta(minutes=20)
BASE = (JUNE - EPOCH) // timedelta(microseconds=1)
HOURS = TimeAxis("at", Grain.HOUR)


@dataclass(frozen=True)
class Kept:
    """A visible record: its place, its event time if it has one, and the broker's timestamp (ms)."""

    offset: int
    event: int | None
    timestamp: int


@dataclass(frozen=True)
class Partition:
    records: tuple[Kept, ...]
    earliest: int
    latest: int

    def facts(self, asked: TimestampBounds) -> PartitionFacts:
        there = [OffsetAtTime(each.offset, each.timestamp) for each in self.records if each.offset >= self.earliest]

        def first(timestamp: int | None) -> OffsetAtTime | None:
            return None if timestamp is None else next((f for f in there if f.timestamp >= timestamp), None)

        at_end = first(asked.end)
        after = None if at_end is None else tuple(f for f in there if f.offset >= at_end.offset)
        return PartitionFacts(self.earliest, self.latest, self.latest, first(0), first(asked.start), at_end, after, 100)


def partition(chance: random.Random, orderly: bool) -> Partition:
    """Late, equal, missing and absurd times; gaps as compaction and transactions leave them; some very short."""
    records, offset, clock = [], chance.choice((0, 0, 7000)), BASE - HOUR
    wide = chance.choice((1, 1, 3000, 9000))
    for _ in range(chance.choice((0, 1, 3, 12, 25))):
        offset += chance.choice((0, 0, 1, wide))
        clock += chance.choice((0, 0, SECOND, 10 * MINUTE, HOUR))
        back = chance.randrange(10 * MINUTE) if chance.random() < 0.2 else 0
        event: int | None = clock - back
        if not orderly:
            event = chance.choice((event, event, event, clock - 9 * HOUR, None, chance.choice(ABSURD)))
        records.append(Kept(offset, event, clock // 1000))
        offset += 1
    end = offset + chance.choice((0, 0, 1, wide))
    return Partition(tuple(records), min(chance.choice((0, 0, 3)), end), end)


def zones_by_hand(chance: random.Random, log: Partition, covered: float) -> list[Zone]:
    """Any blocks, some missing, some doubled, some overlapping, with fine spans or one coarse one; some combined."""
    cuts = sorted({0, log.latest, *(chance.randrange(log.latest + 1) for _ in range(chance.choice((0, 2, 9))))})
    pieces = [slice_ for slice_ in pairwise(cuts) if chance.random() < covered]
    while pieces and chance.random() < 0.3:
        start = chance.choice(pieces)[0]
        pieces.append((start, chance.randrange(start, log.latest) + 1))
    zones = [zone_by_hand(log, *slice_, fine=chance.random() < 0.7) for slice_ in pieces]
    return list(combine(zones)) if chance.random() < 0.4 else zones


def zone_by_hand(log: Partition, start: int, end: int, *, fine: bool) -> Zone:
    """A fine span has an hour, and the offsets from its first event to its last; a coarse one all of the zone."""
    inside = [each for each in log.records if start <= each.offset < end]
    hours: dict[int, list[tuple[int, int]]] = {}
    for each in inside:
        if each.event is not None:
            hours.setdefault(each.event // HOUR if fine else 0, []).append((each.event, each.offset))
    spans = []
    for mine in hours.values():
        events, offsets = zip(*mine, strict=True)
        where = (min(offsets), max(offsets) + 1) if fine else (start, end)
        spans.append(ZoneSpan(min(events), max(events), len(mine), *where))
    spans.sort(key=lambda span: span.low)
    nulls = sum(each.event is None for each in inside)
    return Zone(0, start, end, len(inside), 0, nulls, tuple(spans), None, None)


def looked_up(zones: list[Zone], moments: MicrosRange) -> PartitionZones | None:
    """As the lake answers: by the first and last event of each zone."""
    far = [
        z
        for z in zones
        if not z.spans
        or min(span.low for span in z.spans) >= moments.end
        or max(span.high for span in z.spans) < moments.start
    ]
    near = tuple(zone for zone in zones if zone not in far)
    return PartitionZones(union((zone.start, zone.end) for zone in far), near) if zones else None


def holds(ranges: Iterable[tuple[int, int]], offset: int) -> bool:
    return any(start <= offset < end for start, end in ranges)


def check(log: Partition, zones: list[Zone], live: int | None, hour: int, *, orderly: bool) -> Reading:
    partitions = widen(HOURS, JUNE + timedelta(hours=hour), JUNE + timedelta(hours=hour + 1))
    moments, asked = moments_of(partitions), timestamp_bounds(partitions, SLACK, everything=False)
    facts = log.facts(asked)
    by_slack = offsets_by_slack(facts, asked, SLACK, live)
    found = reading_of(facts, asked, SLACK, live, looked_up(zones, moments), moments)
    end = log.latest if live is None else min(live, log.latest)
    assert found.ranges == union(found.ranges), "disjoint, in order, neighbours joined"
    assert all(log.earliest <= start and after <= end for start, after in found.ranges)
    for each in log.records:
        wanted = each.event is not None and moments.start <= each.event < moments.end
        if wanted and log.earliest <= each.offset < end and not holds(found.ranges, each.offset):
            counted = any(zone.start <= each.offset < zone.end for zone in zones)
            assert not counted, f"{each} is missed, though zones count it"
            assert found.proof in (Proof.SLACK, Proof.BOTH), f"{each} is missed, though that none is was proven"
            assert not orderly, f"{each} is missed, though it is within the slack"
            assert not by_slack.start <= each.offset < by_slack.end
    require_little_in_vain(found, zones, (by_slack.start, by_slack.end), moments)
    return found


def require_little_in_vain(found: Reading, zones: list[Zone], slack: tuple[int, int], moments: MicrosRange) -> None:
    """What is read is where a zone has an event of the range and no other rules it out, or what no zone counts; and a
    little that is between two ranges."""
    nowhere = union(
        slice_
        for zone in zones
        for slice_ in without(((zone.start, zone.end),), union((s.start, s.end) for s in touching(zone, moments)))
    )
    in_vain = common(found.ranges, nowhere)
    little = max(CELL, width(found.ranges) // BRIDGED)
    assert width(in_vain) <= little, f"{in_vain} is read in vain"
    assert all(start not in {s for s, _ in found.ranges} for start, _ in in_vain), "no range begins with such offsets"
    uncounted = without(found.ranges, union((zone.start, zone.end) for zone in zones))
    few = found.uncounted <= max(BLOCK, width(found.ranges) // FEW)
    by_slack = width(without(uncounted, union([slack]))) <= little
    assert by_slack or (zones and few)


def touching(zone: Zone, moments: MicrosRange) -> list[ZoneSpan]:
    return [span for span in zone.spans if span.low < moments.end and span.high >= moments.start]


def test_ten_thousand_topics_agree_with_brute_force() -> None:
    chance = random.Random(20250601)
    proofs = []
    for number in range(CASES):
        orderly, covered = number % 3 == 0, chance.choice((0.0, 0.5, 0.9, 1.0, 1.0))
        for _ in range(chance.choice((1, 1, 3))):
            log = partition(chance, orderly)
            live = None if chance.random() < 0.5 else chance.randrange(log.latest + 2)
            found = check(log, zones_by_hand(chance, log, covered), live, chance.randrange(-1, 4), orderly=orderly)
            proofs.append(found.proof)
    assert {proof: proofs.count(proof) > CASES // 100 for proof in Proof} == dict.fromkeys(Proof, True)


def groups_of(records: Iterable[tuple[int, int]]) -> list[EventGroup]:
    """Of (offset, event): what Spark counts, by hand."""
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for offset, event in records:
        found.setdefault((offset // CELL, event // HOUR), []).append((event, offset))
    groups = []
    for mine in found.values():
        events, offsets = zip(*mine, strict=True)
        groups.append(EventGroup(0, min(offsets), max(offsets), len(mine), 0, 0, min(events), max(events), None, None))
    return groups


def disordered(chance: random.Random, per_second: float, hours: int, late: float, by: int) -> list[int]:
    """The event times of a partition in the order of its offsets: so many of them late, by up to so many seconds."""
    count = round(hours * 3600 * per_second)
    behind = (chance.randrange(by * SECOND) if chance.random() < late else 0 for _ in range(count))
    return [BASE + round(at * SECOND / per_second) - back for at, back in enumerate(behind)]


def amplifications(events: list[int], zones: tuple[Zone, ...], ranges: Iterable[tuple[int, int]]) -> list[float]:
    """Offsets that are read for each event, for ranges of so many hours from that hour on."""
    found, log = [], Partition((), 0, len(events))
    for first, hours in ranges:
        partitions = widen(HOURS, JUNE + timedelta(hours=first), JUNE + timedelta(hours=first + hours))
        moments, asked = moments_of(partitions), timestamp_bounds(partitions, SLACK, everything=False)
        reading = reading_of(log.facts(asked), asked, SLACK, None, looked_up(list(zones), moments), moments)
        inside = [at for at, event in enumerate(events) if moments.start <= event < moments.end]
        assert all(holds(reading.ranges, at) for at in inside)
        found.append(width(reading.ranges) / len(inside))
    return found


@pytest.mark.parametrize(("per_second", "hours"), [(0.005, 400), (0.02, 200), (0.1, 100), (0.5, 24), (3, 8), (20, 4)])
def test_the_median_read_amplification_on_realistic_disorder_is_under_1_3(per_second: float, hours: int) -> None:
    """5% of the events come late by up to ten minutes; ranges of an hour and of two; from 18 records an hour on."""
    chance = random.Random(5)
    events = disordered(chance, per_second, hours, late=0.05, by=600)
    zones = zones_of({0: (0, len(events))}, groups_of(enumerate(events)))
    ranges = [(chance.randrange(hours - 2), 1 + each % 2) for each in range(8)]
    found = amplifications(events, zones, ranges)
    assert 1.0 <= median(found) < 1.3, found
    assert len(zones) <= -(-len(events) // BLOCK) + hours / 3, "as many as there are blocks, and few for the hours"


def by_batches(events: list[int], batches: Iterable[tuple[int, int]]) -> tuple[Zone, ...]:
    """As live keeps them: each batch counted for itself, and combined with what is there."""
    kept: tuple[Zone, ...] = ()
    for start, end in batches:
        kept = combine((*kept, *zones_of({0: (start, end)}, groups_of(enumerate(events[start:end], start)))))
    return kept


@pytest.mark.parametrize(("per_second", "batch"), [(0.05, 5), (20, 2000)])
def test_a_topic_out_of_all_order_has_a_zone_for_a_block(per_second: float, batch: int) -> None:
    events = disordered(random.Random(6), per_second, 100 if per_second < 1 else 1, late=1.0, by=30 * 24 * 3600)
    built = zones_of({0: (0, len(events))}, groups_of(enumerate(events)))
    kept = by_batches(events, ((at, min(at + batch, len(events))) for at in range(0, len(events), batch)))
    assert len(built) <= len(kept) <= 1.5 * -(-len(events) // BLOCK)


def test_batches_of_live_give_zones_as_good_as_those_of_a_build() -> None:
    """The very same, where a block has few hours."""
    chance = random.Random(7)
    for per_second, hours in ((0.1, 60), (3, 3)):
        events = disordered(chance, per_second, hours, late=0.05, by=600)
        built = zones_of({0: (0, len(events))}, groups_of(enumerate(events)))
        kept = by_batches(events, pairwise(sorted({0, len(events), *chance.sample(range(len(events)), 400)})))
        assert sum(zone.count for zone in kept) == len(events)
        assert median(amplifications(events, kept, [(hour, 1) for hour in range(hours - 1)])) < 1.3
        assert per_second < 1 or kept == built


def june(hour: float, minutes: float = 0) -> int:
    return BASE + round((hour * 60 + minutes) * MINUTE)


def zone(start: int, end: int, *events: int) -> Zone:
    spans = tuple(ZoneSpan(e, e, 1, start, end) for e in sorted(events))
    (made,) = combine([Zone(0, start, end, len(events), 0, 0, spans, 5, 6)])
    return made


def plain(latest: int, earliest: int = 0) -> PartitionFacts:
    return PartitionFacts(earliest, latest, latest, OffsetAtTime(earliest, milliseconds(JUNE)), None, None, None, None)


FIRST_HOUR = widen(HOURS, JUNE, JUNE + timedelta(hours=1))
ASKED = timestamp_bounds(FIRST_HOUR, SLACK, everything=False)
MOMENTS = moments_of(FIRST_HOUR)


def read(facts: PartitionFacts, zones: list[Zone], live: int | None = None) -> Reading:
    return reading_of(facts, ASKED, SLACK, live, looked_up(zones, MOMENTS), MOMENTS)


def test_an_event_a_week_late_costs_its_own_block_and_no_other() -> None:
    days = [zone(n * BLOCK, (n + 1) * BLOCK, june(24 * n), june(24 * n, 50)) for n in range(7)]
    late = zone(7 * BLOCK, 8 * BLOCK, june(7 * 24), june(0, 30))
    found = read(plain(8 * BLOCK), [*days, late])
    assert found.ranges == ((0, BLOCK), (7 * BLOCK, 8 * BLOCK))
    assert (found.proof, found.by) == (Proof.MAP, EndsBy.LOG)
    assert (found.records, found.in_range) == (4, 3)


def test_what_one_zone_rules_out_is_not_read_for_another_less_exact_one() -> None:
    found = read(plain(100), [zone(0, 100, june(-1), june(0, 40)), zone(0, 50, june(-1)), zone(50, 60, june(0, 5))])
    assert found.ranges == ((50, 100),)


def test_few_offsets_that_no_zone_counts_are_read_whole_and_many_by_the_slack() -> None:
    facts = plain(BLOCK + 100)
    assert read(facts, [zone(0, 100, june(-5))]).ranges == ((100, BLOCK + 100),)
    assert read(facts, [zone(0, 100, june(-5))]).proof is Proof.MAP
    many = read(plain(BLOCK + 101), [zone(0, 100, june(-5))])
    assert (many.ranges, many.proof, many.uncounted) == ((), Proof.BOTH, BLOCK + 1)
    assert read(plain(BLOCK + 101), []).proof is Proof.SLACK


def test_live_caps_what_the_map_says() -> None:
    found = read(plain(200), [zone(0, 200, june(0, 5))], live=120)
    assert (found.ranges, found.by) == (((0, 120),), EndsBy.LIVE)


def gone(zones: list[Zone], earliest: int = 100) -> list[int | None]:
    facts = SourceFacts("t", "u", {0: plain(500, earliest)}, None, None)
    known = looked_up(zones, MOMENTS)
    told = missing(facts, ASKED, SLACK, {}, ZoneMap({0: known}) if known else NO_MAP, MOMENTS)
    return [each.lost_until for each in told]


def test_the_map_knows_whether_what_retention_took_was_in_the_range() -> None:
    assert gone([]) == [None], "by timestamps it may have been"
    assert gone([zone(0, 100, june(-3))]) == [], "by its zones it was not"
    assert gone([zone(0, 50, june(-3))]) == [None], "nobody counted the other half"
    assert gone([zone(0, 100, june(-3), june(0, 20))]) == [june(0, 20)], "by its zones it was"
    assert gone([zone(0, 200, june(-3), june(9), june(0, 20))]) == [june(0, 20)]
    kept_by_now = ZoneSpan(june(0, 40), june(0, 40), 1, 100, 101)
    assert gone([replace(zone(0, 200), spans=(kept_by_now,))]) == [], "it was elsewhere in the zone"
    assert gone([replace(zone(0, 200), spans=(ZoneSpan(june(-3), june(9), 3, 0, 200),))]) == [MOMENTS.end - 1]


def test_the_axis_of_days_is_looked_up_by_its_first_and_last_moment() -> None:
    day = moments_of(widen(AXIS, JUNE, JUNE + timedelta(hours=1)))
    assert (day.start, day.end) == (BASE, BASE + 24 * HOUR)
