"""What an audit says of a topic: how far back, how long, which colour, and what a change would take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from anabranch.contract.pipeline import PipelineClass
from anabranch.gates.colour import Colour
from anabranch.readiness.retention import TopicVerdict, audit_of, judge_retention
from anabranch.readiness.topic_classes import Classified, Needs, TopicClass
from anabranch.readiness.topic_retention import Keeping, KeptPartition, KeptTopic, Limit

NOW = datetime(2025, 7, 1, tzinfo=timezone.utc)
DAY = timedelta(days=1)
TEN_DAYS = Needs(5 * DAY, 2 * DAY, 2 * DAY, DAY)
WEEK = 7 * 86400


def days_ago(days: float) -> int:
    return round((NOW - days * DAY).timestamp() * 1000)


def partition(**changes: Any) -> KeptPartition:
    """A hundred bytes an offset, one offset a second in the week that is watched."""
    facts = {"earliest": 0, "latest": 2 * WEEK, "first": days_ago(14), "recent": WEEK, "size": 200 * WEEK}
    return KeptPartition(**{**facts, **changes})


def topic(
    keeping: Mapping[str, Any] | None = None, *, replicas: int = 3, partitions: Any = None, seen: bool = True
) -> KeptTopic:
    settings: dict[str, Any] = {
        "cleanup": frozenset({"delete"}),
        "retention_ms": None,
        "retention_bytes": None,
        "compaction_lag_ms": 0,
        "remote": False,
    }
    kept = Keeping(**{**settings, **(keeping or {})}) if seen else None
    return KeptTopic("shop.orders", "u", replicas, partitions or {0: partition()}, kept, NOW, 7 * DAY)


def judged(
    of: KeptTopic,
    topic_class: TopicClass | None = TopicClass.VIEW_SOURCE,
    readers: tuple[PipelineClass, ...] = ("stateless",),
) -> TopicVerdict:
    return judge_retention(of, None if topic_class is None else Classified(topic_class, TEN_DAYS), readers)


def kept_days(days: float) -> dict[str, int]:
    return {"retention_ms": round(days * 86_400_000)}


@pytest.mark.parametrize(
    ("days", "colour"),
    [(9.99, Colour.RED), (10, Colour.YELLOW), (12.49, Colour.YELLOW), (12.5, Colour.GREEN), (None, Colour.GREEN)],
)
def test_by_time(days: float | None, colour: Colour) -> None:
    found = judged(topic({} if days is None else kept_days(days)))
    assert found.colour is colour
    assert bool(found.to_green) is (colour is not Colour.GREEN)


def test_a_change_is_told_as_a_command_with_what_it_takes_on_all_replicas() -> None:
    found = judged(topic(kept_days(3)))
    wanted = re.search(r"--entity-name shop\.orders --add-config retention\.ms=(\d+)$", found.to_green)
    assert wanted is not None
    assert int(wanted[1]) == 13 * 86_400_000  # ten days and a quarter, in whole days
    assert found.more_bytes == 10 * 86400 * 100 * 3
    assert judged(topic(kept_days(13))).colour is Colour.GREEN, "what it says to write must turn it green"


def test_by_size_at_the_pace_of_the_fastest_partition() -> None:
    fast, slow = partition(recent=2 * WEEK), partition(recent=10)
    found = judged(topic({"retention_bytes": 200 * 86400 * 9}, partitions={0: slow, 1: fast}))
    assert found.colour is Colour.RED
    assert found.promise is not None
    assert found.promise.by is Limit.SIZE
    assert found.promise.kept == 9 * DAY
    wanted = re.search(r"retention\.bytes=(\d+)$", found.to_green)
    assert wanted is not None
    assert int(wanted[1]) == 200 * 86400 * 20
    after = judged(topic({"retention_bytes": int(wanted[1])}, partitions={0: slow, 1: fast}))
    assert after.colour is Colour.GREEN


def test_of_two_limits_the_first_to_be_reached_counts_and_both_are_raised() -> None:
    found = judged(topic({**kept_days(4), "retention_bytes": 100 * 86400 * 3}))
    assert found.promise is not None
    assert (found.promise.by, found.promise.kept) == (Limit.SIZE, 3 * DAY)
    wanted = re.search(r"retention\.ms=(\d+),retention\.bytes=(\d+)$", found.to_green)
    assert wanted is not None
    assert found.more_bytes == 10 * 86400 * 100 * 3  # from three days to thirteen, when time is the limit
    raised = judged(topic({"retention_ms": int(wanted[1]), "retention_bytes": int(wanted[2])}))
    assert raised.colour is Colour.GREEN
    longer = judged(topic({**kept_days(2), "retention_bytes": 100 * 86400 * 3}))
    assert longer.promise is not None
    assert longer.promise.by is Limit.TIME


def test_by_size_is_yellow_long_before() -> None:
    assert judged(topic({"retention_bytes": 100 * 86400 * 19})).colour is Colour.YELLOW


def test_a_limit_by_size_that_nothing_grows_towards_is_none() -> None:
    found = judged(topic({"retention_bytes": 10}, partitions={0: partition(recent=0)}))
    assert found.colour is Colour.GREEN


def test_a_young_topic_is_not_held_to_have_grown_for_a_week() -> None:
    young = partition(latest=86400, first=days_ago(1), recent=86400, size=86400 * 100)
    found = judged(topic({"retention_bytes": 100 * 86400 * 9}, partitions={0: young}))
    assert found.promise is not None
    assert found.promise.kept == 9 * DAY


def test_what_is_gone_already_is_told_though_the_settings_suffice() -> None:
    cut = partition(earliest=5, first=days_ago(4))
    found = judged(topic(kept_days(20), partitions={0: partition(), 1: cut}))
    assert found.colour is Colour.YELLOW
    assert found.reach == 4 * DAY
    assert found.oldest == NOW - 4 * DAY
    assert "2025-07-07" in found.to_green, "in six days it is ten days back again"


def test_the_partition_that_has_lost_most_says_how_far_back() -> None:
    parts = {0: partition(earliest=1, first=days_ago(11)), 1: partition(earliest=1, first=days_ago(13)), 2: partition()}
    assert judged(topic(partitions=parts)).reach == 11 * DAY
    assert judged(topic(partitions={**parts, 3: partition(earliest=7, first=None, recent=0)})).reach == timedelta()
    assert judged(topic(partitions={2: partition()})).reach is None


@pytest.mark.parametrize(
    ("topic_class", "readers", "lag_days", "colour"),
    [
        (TopicClass.AUDIT, ("upsert",), 0, Colour.RED),
        (TopicClass.VIEW_SOURCE, ("stateless",), 0, Colour.RED),
        (TopicClass.VIEW_SOURCE, ("upsert", "stateless"), 0, Colour.RED),
        (TopicClass.VIEW_SOURCE, ("upsert",), 0, Colour.GREEN),
        (TopicClass.VIEW_SOURCE, (), 0, Colour.YELLOW),
        (TopicClass.VIEW_SOURCE, ("stateless",), 13, Colour.GREEN),
    ],
)
def test_compaction_takes_events_but_not_the_last_of_a_key(
    topic_class: TopicClass, readers: tuple[PipelineClass, ...], lag_days: int, colour: Colour
) -> None:
    compacted = topic({"cleanup": frozenset({"compact"}), "compaction_lag_ms": lag_days * 86_400_000})
    assert judged(compacted, topic_class, readers).colour is colour


def test_a_topic_that_is_compacted_and_deleted_goes_by_both() -> None:
    both = frozenset({"compact", "delete"})
    assert judged(topic({"cleanup": both, **kept_days(3)}), readers=("upsert",)).colour is Colour.RED
    assert (
        judged(topic({"cleanup": frozenset({"compact"}), **kept_days(3)}), readers=("upsert",)).colour is Colour.GREEN
    )


def test_what_can_not_be_seen_is_red() -> None:
    assert judged(topic(seen=False)).colour is Colour.RED
    hidden = KeptTopic("shop.orders", "u", 1, None, topic().keeping, NOW, 7 * DAY)
    assert judged(hidden).colour is Colour.RED
    assert judged(hidden).document()["replay_from"]["beginning"] is False


def test_a_topic_without_a_class_is_yellow_with_the_line_to_write() -> None:
    found = judged(topic(kept_days(1)), None)
    assert found.colour is Colour.YELLOW
    assert "view-source: {topics: [shop.orders]}" in found.to_green
    assert "telemetry" in judged(topic(), None, ()).to_green


def test_sizes_of_a_tiered_topic_are_not_all_of_it() -> None:
    found = judged(topic({"remote": True, **kept_days(3)}))
    assert (found.colour, found.more_bytes) == (Colour.RED, None)


def test_an_audit_has_the_worst_first() -> None:
    found = audit_of([judged(topic()), judged(topic(kept_days(1))), judged(topic(), None)], NOW)
    assert [each.colour for each in found.topics] == [Colour.RED, Colour.YELLOW, Colour.GREEN]
    assert found.colour is Colour.RED
    assert found.document()["count"] == {"green": 1, "yellow": 1, "red": 1}
