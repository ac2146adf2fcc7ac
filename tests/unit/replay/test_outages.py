"""Silence of services over a simulated clock."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from anabranch.replay.outages import REPLAY_WAITS, Answers, Outages, Silence, Silent, words_of

KAFKA, CATALOG = "Kafka at localhost:9092", "Catalog lake"
START = datetime(2025, 6, 1, 12, 3, 10, tzinfo=timezone.utc)
LIMIT = timedelta(minutes=15)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def test_answers_are_no_notice() -> None:
    outages = Outages(LIMIT)
    assert [outages.observe(KAFKA, at(t), True, at(t + 0.1)) for t in (0, 5, 10)] == [None, None, None]
    assert outages.silent == ()


def test_a_refused_probe_is_reported_at_once_and_dated_to_its_beginning() -> None:
    outages = Outages(LIMIT)
    notice = outages.observe(KAFKA, at(0), False, at(4))
    assert notice == Silent(Silence(KAFKA, at(0)), at(4), at(900), first=True)


def test_a_probe_that_hangs_is_silence_after_five_seconds() -> None:
    outages = Outages(LIMIT)
    assert outages.observe(KAFKA, at(0), None, at(4.9)) is None
    assert isinstance(outages.observe(KAFKA, at(0), None, at(5)), Silent)


def test_however_an_outage_falls_between_probes_it_is_reported_within_fifteen_seconds() -> None:
    """A probe begins five seconds after the one before has ended, and hangs."""
    for late in range(50):
        outages, broken = Outages(LIMIT), at(late / 10)
        begun = at(5)  # the probe at 0 was answered; the next begins after any `broken` of this loop
        ticks = (begun + timedelta(seconds=n / 2) for n in range(60))
        reported = next(now for now in ticks if outages.observe(KAFKA, begun, None, now))
        assert reported - broken <= timedelta(seconds=15)


def test_an_outage_is_one_notice_and_a_reminder_each_minute_until_it_ends() -> None:
    outages = Outages(LIMIT)
    notices = [outages.observe(KAFKA, at(t), False, at(t + 4)) for t in range(0, 130, 5)]
    shown = [notice for notice in notices if notice is not None]
    assert [(n.at - START).total_seconds() for n in shown] == [4, 64, 124]
    assert [isinstance(n, Silent) and n.first for n in shown] == [True, False, False]
    assert outages.observe(KAFKA, at(130), True, at(131)) == Answers(Silence(KAFKA, at(0)), at(131))
    assert outages.observe(KAFKA, at(135), True, at(136)) is None


def test_the_limit_counts_from_the_beginning_of_each_silence() -> None:
    outages = Outages(LIMIT)
    outages.observe(KAFKA, at(0), False, at(4))
    outages.observe(CATALOG, at(600), False, at(604))
    assert outages.over_limit(at(899)) is None
    assert outages.over_limit(at(900)) == Silence(KAFKA, at(0))
    outages.observe(KAFKA, at(905), True, at(906))
    assert outages.over_limit(at(1000)) is None
    assert outages.over_limit(at(1500)) == Silence(CATALOG, at(600))


def test_a_short_answer_begins_the_limit_again() -> None:
    outages = Outages(LIMIT)
    outages.observe(KAFKA, at(0), False, at(4))
    outages.observe(KAFKA, at(800), True, at(800))
    outages.observe(KAFKA, at(805), False, at(809))
    assert outages.over_limit(at(1600)) is None
    assert outages.over_limit(at(1705)) is not None


def test_with_no_limit_it_is_never_over() -> None:
    outages = Outages(None)
    notice = outages.observe(KAFKA, at(0), False, at(4))
    assert isinstance(notice, Silent)
    assert "pauses" not in words_of(notice, "Live waits")
    assert outages.over_limit(at(10**6)) is None


def test_the_words_have_the_service_since_when_and_what_happens_next() -> None:
    outages = Outages(LIMIT)
    outages.observe(KAFKA, at(0), False, at(4))
    reminder = outages.observe(KAFKA, at(60), False, at(85))
    assert reminder is not None
    assert words_of(reminder, REPLAY_WAITS) == (
        "Kafka at localhost:9092 has not answered since 12:03:10 UTC (1m25s). The replay waits and continues by itself "
        "when it answers; it pauses at 12:18:10 UTC."
    )
    end = outages.observe(KAFKA, at(90), True, at(90))
    assert end is not None
    assert words_of(end, REPLAY_WAITS) == "Kafka at localhost:9092 answers again after 1m30s."
