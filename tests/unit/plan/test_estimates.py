"""What is shown beside a plan, where the cluster says little, a map is there, or the whole table is replayed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.plan.world import HOUR, JUNE, NOW, SETTINGS, Log, Record, World, hourly

from anabranch.plan.forecast.estimates import Estimates, MapUse
from anabranch.plan.offsets.zone_spans import HOUR as HOUR_MICROSECONDS
from anabranch.plan.offsets.zone_spans import ZoneSpan
from anabranch.plan.offsets.zones import PartitionZones, Zone, ZoneMap
from anabranch.plan.ports import LiveHistory, PartitionFacts, TimestampBounds
from anabranch.plan.target_range import EPOCH, WholeTable

LIVE = LiveHistory({0: 470}, 3, True, frozenset(), 0)
LOG = hourly(20)
RATE = {"bytesPerSecond": 100}
UPSERT = {"class": "upsert"}


@dataclass(frozen=True)
class Changed(Log):
    """A log of which the cluster says something else in one respect."""

    size: int | None = -1
    hidden: int = 0
    """Offsets at the end that an open transaction hides."""

    def facts(self, request: TimestampBounds, samples: int | None = 10**9) -> PartitionFacts:
        facts = super().facts(request, samples)
        size = facts.size if self.size == -1 else self.size
        return replace(facts, size=size, latest=facts.latest - self.hidden)


def estimates(world: World, logs: Sequence[Log] = (LOG,), **given: Any) -> Estimates:
    live = {"live": LiveHistory(dict.fromkeys(range(len(logs)), 470), 3, True, frozenset(), 0)}
    return world.plan(logs, **{"target": live, **given}).estimates


def codes(found: Estimates) -> set[str]:
    return {each.code for each in found.cautions}


def test_one_partition_without_a_size_leaves_the_bytes_and_the_time_unknown(world: World) -> None:
    found = estimates(world, [LOG, Changed(LOG.records, size=None)], budget=RATE)
    assert (found.offsets, found.bytes, found.duration) == (102, None, None)
    assert found.document()["bytes"] is None
    assert found.document()["seconds_at_the_contracts_rate"] is None


def test_without_a_rate_the_time_is_not_known_though_the_bytes_are(world: World) -> None:
    found = estimates(world)
    assert (found.bytes, found.duration) == (5100, None)


def test_only_partitions_that_are_read_count(world: World) -> None:
    """The second has no event of the range: it ends before June."""
    before = Log([Record(each.timestamp, each.event) for each in LOG.records[:100]])
    live = {"live": LiveHistory({0: 470, 1: 100}, 3, True, frozenset(), 0)}
    found = estimates(world, [LOG, Changed(before.records, size=None)], target=live)
    assert (found.bytes, set(found.ends)) == (5100, {0})


def test_a_control_reads_the_same_once_more(world: World) -> None:
    alone, with_control = estimates(world, budget=RATE), estimates(world, budget=RATE, control={"code": "live"})
    assert alone.duration == timedelta(seconds=51)
    assert with_control.duration == 2 * alone.duration
    assert with_control.bytes == alone.bytes, "of one reading"


def test_what_an_open_transaction_hides_is_told(world: World) -> None:
    assert codes(estimates(world, [Changed(LOG.records, hidden=5)])) == {"open-transaction"}
    assert codes(estimates(world)) == set()


def test_a_transaction_that_was_seen_is_told_and_none_proves_nothing(world: World) -> None:
    assert estimates(world, source={"transactional": True}).document()["transactional"] == "seen"
    assert estimates(world).document()["transactional"] == "unknown"


@pytest.mark.parametrize("hours", [0, -5])
def test_retention_that_may_strike_at_any_moment_is_told(world: World, hours: int) -> None:
    kept = NOW - (JUNE - HOUR) + hours * HOUR
    settings = replace(SETTINGS, retention_ms=kept // timedelta(milliseconds=1))
    found = estimates(world, source={"settings": settings})
    assert found.headroom == hours * HOUR
    assert codes(found) == {"retention-near"}
    assert found.document()["headroom_seconds"] == hours * 3600


def test_settings_that_are_not_shown_leave_the_headroom_unknown(world: World) -> None:
    found = estimates(world, source={"settings": None})
    assert (found.headroom, found.settings) == (None, None)


def test_a_range_that_reaches_beyond_now_is_told_and_one_of_everything_is_not(world: World) -> None:
    soon: dict[str, Any] = {"range": {"eventTime": {"from": "2025-06-01T00:00:00Z", "to": "2025-06-05T00:00:00Z"}}}
    early = JUNE + timedelta(days=2)
    assert codes(estimates(world, now=early, **soon)) == {"range-not-over"}
    assert codes(estimates(world, now=JUNE + timedelta(days=4), **soon)) == set(), "its last partition is over"
    assert "range-not-over" not in codes(estimates(world, range={"everything": True}))


def test_a_closed_range_of_keys_is_told_that_it_goes_on_to_live(world: World) -> None:
    target = {"partitions": WholeTable(None, JUNE), "live": LIVE}
    closed = estimates(world, target=target, pipe=UPSERT)
    since: dict[str, Any] = {"range": {"eventTime": {"from": "2025-06-01T00:00:00Z"}}}
    opened = estimates(world, target=target, pipe=UPSERT, **since)
    assert codes(closed) == {"merged-to-live"}
    assert codes(opened) == set()
    foreign = {**target, "live": replace(LIVE, foreign=2)}
    assert codes(estimates(world, target=foreign, pipe=UPSERT, **since)) == {"foreign-commits"}


def test_compaction_takes_no_row_from_a_table_by_key(world: World) -> None:
    compacted = {"settings": replace(SETTINGS, cleanup=frozenset({"compact"}))}
    target = {"partitions": WholeTable(None, JUNE), "live": LIVE}
    since: dict[str, Any] = {"range": {"eventTime": {"from": "2025-06-01T00:00:00Z"}}}
    assert codes(estimates(world, source=compacted, target=target, pipe=UPSERT, **since)) == set()
    assert codes(estimates(world, source=compacted)) == {"compacted"}


def test_the_deadline_counts_from_when_the_contract_lets_it_begin(world: World) -> None:
    late = {"startAfter": "2025-07-01T00:59:30Z", "deadline": "2025-07-01T01:00:00Z"}
    soon = {"deadline": "2025-07-01T01:00:00Z"}
    assert codes(estimates(world, schedule=late, budget=RATE)) == {"deadline-near"}
    assert codes(estimates(world, schedule=soon, budget=RATE)) == set()
    assert codes(estimates(world, schedule=late)) == set(), "with no rate nobody knows how long it takes"


# By the zone map.


def zones(upto: int, oldest: int | None = 1) -> PartitionZones:
    """By tens, with the events in order; the first is five days before June."""
    first = (JUNE - timedelta(days=5) - EPOCH) // timedelta(microseconds=1)

    def one(start: int) -> Zone:
        span = ZoneSpan(
            first + start * HOUR_MICROSECONDS, first + (start + 9) * HOUR_MICROSECONDS, 10, start, start + 10
        )
        return Zone(0, start, start + 10, 10, 100, 0, (span,), oldest, oldest)

    return PartitionZones((), tuple(one(start) for start in range(0, upto, 10)))


def test_a_few_offsets_that_no_zone_counts_are_read_and_counted_as_such(world: World) -> None:
    counted, partly = (estimates(world, zones=ZoneMap({0: zones(upto)})) for upto in (480, 100))
    assert codes(counted) == codes(partly) == set()
    assert (counted.map.of_interest, counted.map.uncounted, counted.map.covered) == (470, 0, 1.0)
    assert (partly.map.of_interest, partly.map.uncounted) == (470, 370)
    assert partly.offsets == 370, "read whole, and so proven"


def test_headroom_goes_by_the_oldest_record_that_a_zone_counts(world: World) -> None:
    month = timedelta(days=40)
    settings = {"settings": replace(SETTINGS, retention_ms=month // timedelta(milliseconds=1))}
    oldest = (JUNE - timedelta(days=9) - EPOCH) // timedelta(milliseconds=1)
    found = estimates(world, zones=ZoneMap({0: zones(480, oldest)}), source=settings)
    assert found.headroom == JUNE - timedelta(days=9) + month - NOW
    unwritten = estimates(world, zones=ZoneMap({0: zones(480, -5)}), source=settings)
    assert unwritten.headroom == EPOCH + month - NOW, "no record is held to be older than 1970"


def test_without_offsets_to_choose_from_a_map_covers_nothing() -> None:
    assert MapUse(0, 0, 0, 0).covered == 0.0
    assert MapUse(10, 10, 0, 0).amplification is None
    assert MapUse(10, 10, 0, 0).document()["read_amplification"] is None


@given(st.integers(1, 10**9), st.data())
def test_a_map_s_shares_are_shares(of_interest: int, data: st.DataObject) -> None:
    uncounted = data.draw(st.integers(0, of_interest))
    records = data.draw(st.integers(1, of_interest))
    in_range = data.draw(st.integers(1, records))
    use = MapUse(of_interest, uncounted, records, in_range)
    assert 0 <= use.covered <= 1
    assert (use.covered == 1) is (uncounted == 0) or of_interest > 10**15
    assert use.amplification is not None
    assert use.amplification >= 1
