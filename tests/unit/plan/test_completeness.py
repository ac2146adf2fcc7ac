"""Event time to offsets by the zone map, against brute force: no event of the range is ever missed."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from statistics import median

from tests.unit.plan.world import AXIS, JUNE, milliseconds

from anabranch.plan.axis import EPOCH, Grain, TimeAxis, widen
from anabranch.plan.completeness import FEW, Moments, Proof, Reading, missing, moments_of, reading_of
from anabranch.plan.facts import Found, Lookups, PartitionFacts, SourceFacts
from anabranch.plan.intervals import union, width
from anabranch.plan.offsets import EndsBy, lookups, reach
from anabranch.plan.zones import BLOCK, HOUR, NO_MAP, Group, PartitionZones, Span, Zone, ZoneMap, combine, zones_of

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

    def facts(self, asked: Lookups) -> PartitionFacts:
        there = [Found(each.offset, each.timestamp) for each in self.records if each.offset >= self.earliest]

        def first(timestamp: int | None) -> Found | None:
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
    """Any blocks, some missing, some doubled, some overlapping, with fine spans or one coarse one."""
    cuts = sorted({0, log.latest, *(chance.randrange(log.latest + 1) for _ in range(chance.choice((0, 2, 9))))})
    pieces = [piece for piece in pairwise(cuts) if chance.random() < covered]
    while pieces and chance.random() < 0.3:
        start = chance.choice(pieces)[0]
        pieces.append((start, chance.randrange(start, log.latest) + 1))
    return [zone_by_hand(log, *piece, fine=chance.random() < 0.7) for piece in pieces]


def zone_by_hand(log: Partition, start: int, end: int, *, fine: bool) -> Zone:
    inside = [each for each in log.records if start <= each.offset < end]
    hours: dict[int, list[int]] = {}
    for each in inside:
        if each.event is not None:
            hours.setdefault(each.event // HOUR if fine else 0, []).append(each.event)
    spans = tuple(sorted((Span(min(h), max(h), len(h)) for h in hours.values()), key=lambda span: span.low))
    nulls = sum(each.event is None for each in inside)
    return Zone(0, start, end, len(inside), 0, nulls, spans, None, None)


def looked_up(zones: list[Zone], moments: Moments) -> PartitionZones | None:
    """As the lake answers: by the first and last event of each zone."""
    far = [
        z for z in zones if not z.spans or z.spans[0].low >= moments.end or max(s.high for s in z.spans) < moments.start
    ]
    near = tuple(zone for zone in zones if zone not in far)
    return PartitionZones(union((zone.start, zone.end) for zone in far), near) if zones else None


def holds(ranges: Iterable[tuple[int, int]], offset: int) -> bool:
    return any(start <= offset < end for start, end in ranges)


def check(log: Partition, zones: list[Zone], live: int | None, hour: int, *, orderly: bool) -> Reading:
    partitions = widen(HOURS, JUNE + timedelta(hours=hour), JUNE + timedelta(hours=hour + 1))
    moments, asked = moments_of(partitions), lookups(partitions, SLACK, everything=False)
    facts = log.facts(asked)
    by_slack = reach(facts, asked, SLACK, live)
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
    edges = {edge + off for zone in zones for edge in (zone.start, zone.end) for off in (-1, 0)}
    for offset in edges | {by_slack.start - 1, by_slack.start, by_slack.end - 1, by_slack.end}:
        if holds(found.ranges, offset):
            counting = [zone for zone in zones if zone.start <= offset < zone.end]
            assert all(zone.touches(moments.start, moments.end) for zone in counting), f"{offset} is read in vain"
            few = found.uncounted <= max(BLOCK, width(found.ranges) // FEW)
            assert counting or by_slack.start <= offset < by_slack.end or (zones and few)
    return found


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


def groups_of(records: Iterable[tuple[int, int]]) -> list[Group]:
    """Of (offset, event): what Spark counts, by hand."""
    found: dict[tuple[int, int], list[int]] = {}
    for offset, event in records:
        found.setdefault((offset // BLOCK, event // HOUR), []).append(event)
    return [Group(0, b, len(e), 0, 0, min(e), max(e), None, None) for (b, _), e in found.items()]


def test_the_median_read_amplification_on_realistic_disorder_is_under_1_3() -> None:
    """5% of the events come late by up to ten minutes; ranges of an hour and of two; ten records a second and more.

    A block goes by offsets: a slower partition has hours in one block, and reads more for each event of the range.
    """
    chance, found = random.Random(5), []
    for per_second in (10, 20, 60):
        count = 4 * 3600 * per_second
        late = [chance.randrange(600 * SECOND) if chance.random() < 0.05 else 0 for _ in range(count)]
        events = [BASE + at * SECOND // per_second - behind for at, behind in enumerate(late)]
        zones = zones_of({0: (0, count)}, groups_of(enumerate(events)))
        log = Partition((), 0, count)
        for first, hours in ((0, 1), (1, 1), (2, 1), (1, 2)):
            partitions = widen(HOURS, JUNE + timedelta(hours=first), JUNE + timedelta(hours=first + hours))
            moments, asked = moments_of(partitions), lookups(partitions, SLACK, everything=False)
            reading = reading_of(log.facts(asked), asked, SLACK, None, looked_up(list(zones), moments), moments)
            inside = sum(moments.start <= event < moments.end for event in events)
            assert reading.in_range == inside, "spans of an hour count exactly"
            found.append(width(reading.ranges) / inside)
    assert 1.0 <= median(found) < 1.3, found


def june(hour: float, minutes: float = 0) -> int:
    return BASE + round((hour * 60 + minutes) * MINUTE)


def zone(start: int, end: int, *events: int) -> Zone:
    (made,) = combine([Zone(0, start, end, len(events), 0, 0, tuple(Span(e, e, 1) for e in sorted(events)), 5, 6)])
    return made


def plain(latest: int, earliest: int = 0) -> PartitionFacts:
    return PartitionFacts(earliest, latest, latest, Found(earliest, milliseconds(JUNE)), None, None, None, None)


FIRST_HOUR = widen(HOURS, JUNE, JUNE + timedelta(hours=1))
ASKED = lookups(FIRST_HOUR, SLACK, everything=False)
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
    assert gone([zone(0, 200, june(-3), june(9), june(0, 20))]) == [MOMENTS.end - 1]


def test_the_axis_of_days_is_looked_up_by_its_first_and_last_moment() -> None:
    day = moments_of(widen(AXIS, JUNE, JUNE + timedelta(hours=1)))
    assert (day.start, day.end) == (BASE, BASE + 24 * HOUR)
