"""The race against retention as `plan` and `status` print it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.unit.plan.test_retention_race import ANY_ORDER, HOUR, NOW, expiring, of_partitions, per_slice, settings

from anabranch.cli.render_race import HEADINGS, PARTITIONS_SHOWN, countdown, has_limit, race_words, rows_of
from anabranch.plan.retention.decision import decide
from anabranch.plan.slices import Slice


def test_the_worst_partition_is_first_with_both_times_and_what_is_to_spare() -> None:
    found = decide(of_partitions(0, 1), per_slice(600), expiring({0: HOUR, 1: 3 * HOUR}), ANY_ORDER, "a rehearsal")
    assert list(rows_of(found)) == [
        ("0", "0", "s0", "1h", "retention.ms", "15m", "45m"),
        ("1", "0", "s1", "3h", "retention.ms", "30m", "2h30m"),
    ]
    assert {len(row) for row in rows_of(found)} == {len(HEADINGS)}


def test_a_lost_race_says_that_apply_is_refused_and_how_much_too_late_it_is() -> None:
    found = decide(of_partitions(0), per_slice(HOUR), expiring({0: HOUR}), ANY_ORDER, "a rehearsal")
    assert next(rows_of(found))[-1] == "-30m"
    words = list(race_words(found))
    assert words[0] == "rate: a rehearsal"
    assert "apply is refused" in words[-1]


def test_without_a_rate_the_time_needed_is_unknown_and_so_is_a_loss_that_was_not_measured() -> None:
    facts = expiring({0: HOUR})
    found = decide(of_partitions(0, 1), None, facts, ANY_ORDER, None)
    rows = {row[0]: row for row in rows_of(found)}
    assert rows["0"][3:] == ("1h", "retention.ms", "unknown", "1h")
    assert rows["1"][3:] == ("unknown", "", "unknown", "unknown")
    assert "unknown until a rehearsal" in next(race_words(found))
    unlimited = replace(facts, settings=settings(None), partitions=facts.partitions)
    assert not has_limit(decide(of_partitions(0), None, unlimited, ANY_ORDER, None))


def test_many_partitions_are_cut_to_the_worst() -> None:
    many = {p: HOUR + p for p in range(PARTITIONS_SHOWN + 3)}
    slices = [Slice("s0", dict.fromkeys(many, (0, 10)))]
    found = decide(slices, per_slice(1), expiring(many), ANY_ORDER, "a rehearsal")
    assert [row[0] for row in rows_of(found)] == [str(p) for p in range(PARTITIONS_SHOWN)]
    assert next(race_words(found)) == "… 3 more partitions with more to spare"


def test_the_countdown_goes_on_after_the_measurement() -> None:
    document = decide(of_partitions(0), per_slice(60), expiring({0: HOUR}), ANY_ORDER, "a rehearsal").document()
    for passed, when in ((timedelta(minutes=20), "in 40m"), (timedelta(hours=2), "at any moment")):
        [line] = countdown(document, NOW + passed)
        assert f"partition 0, offset 0: may be deleted {when} by retention.ms" in line
