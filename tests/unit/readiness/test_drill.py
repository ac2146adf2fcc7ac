"""How the four questions of a drill are answered, and which colour each answer has."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from anabranch.gates.colour import Colour
from anabranch.plan.offsets.completeness import Proof
from anabranch.plan.plan import Plan, PlannedSource, PlannedTarget
from anabranch.plan.target_range import Grain, TimeAxis, widen
from anabranch.readiness.drill_report import DrillReport, Exercise, Seconds, answer
from anabranch.readiness.readers import Readers
from anabranch.readiness.retention import TopicVerdict, judge_retention
from anabranch.readiness.topic_classes import Classified, Needs, TopicClass
from anabranch.readiness.topic_retention import Keeping, KeptPartition, KeptTopic
from anabranch.runs.heads import Head

NOW = datetime(2025, 7, 1, tzinfo=timezone.utc)
DAY = timedelta(days=1)
BACK, OFFSETS, DUPLICATES, CAUGHT_UP = range(4)
FOR_EVER = Keeping(frozenset({"delete"}), None, None, 0, remote=False)


def plan(proof: Proof = Proof.MAP, first: int = 300) -> Plan:
    part = widen(TimeAxis("at", Grain.HOUR), NOW - DAY, NOW - DAY + timedelta(hours=1))
    source = PlannedSource(
        "shop.orders", "u", 2, {0: ((100, 100 + first),), 1: ((50, 250),)}, {}, {0: proof, 1: Proof.WHOLE}
    )
    return Plan("orders", "c", "code", source, PlannedTarget("shop.orders", Head("1"), "s", part, None, None), ())


def kept(replay: timedelta = DAY, *, classified: bool = True, keeping: Keeping = FOR_EVER) -> TopicVerdict:
    partitions = {p: KeptPartition(0, 50_000, None, 0, 10) for p in range(2)}
    topic = KeptTopic("shop.orders", "u", 1, partitions, keeping, NOW, 7 * DAY)
    found = Classified(TopicClass.VIEW_SOURCE, Needs(DAY, DAY, DAY, replay)) if classified else None
    return judge_retention(topic, found, ("stateless",))


def exercise(**changes: Any) -> Exercise:
    facts: dict[str, Any] = {
        "run": "r1",
        "plan": plan(),
        "pipeline_class": "stateless",
        "kept": kept(),
        "isolation_held": True,
        "group_fates": {"shop-orders": "unchanged"},
        "readers": Readers("shop.orders", (), "shop.orders", ()),
        "lag_before": 0,
        "lag_after": 0,
        "accepted": True,
        "checks": {"conservation": "passed", "keys": "passed"},
        "accounted": 500,
        "rows_before": 480,
        "rows_after": 480,
        "changed": False,
        "same_code": True,
        "seconds": Seconds(plan=1.0, replay=6.0, slices=5.0, validate=2.0, close=1.0),
    }
    return Exercise(**{**facts, **changes})


def colours(report: DrillReport) -> list[Colour]:
    return [each.colour for each in (*report.answers, report.recovery)]


def test_all_is_well() -> None:
    report = answer(exercise())
    assert colours(report) == [Colour.GREEN] * 5
    assert report.colour is Colour.GREEN
    assert report.recovery.figures["recovery_seconds"] == 10.0
    assert report.recovery.figures["records_per_second"] == 100.0
    assert report.recovery.figures["seconds_to_replay_all_that_is_kept"] == 1000.0


@pytest.mark.parametrize(
    ("changes", "question", "colour"),
    [
        ({"kept": None}, BACK, Colour.RED),
        ({"kept": kept(keeping=Keeping(frozenset({"delete"}), 1000, None, 0, remote=False))}, BACK, Colour.RED),
        ({"plan": plan(Proof.SLACK)}, OFFSETS, Colour.YELLOW),
        ({"plan": plan(Proof.BOTH)}, OFFSETS, Colour.YELLOW),
        ({"isolation_held": False}, DUPLICATES, Colour.RED),
        ({"accepted": False, "checks": {"keys": "failed"}}, CAUGHT_UP, Colour.RED),
        ({"accounted": 499}, CAUGHT_UP, Colour.RED),
        ({"lag_after": None}, CAUGHT_UP, Colour.YELLOW),
        ({"changed": True}, CAUGHT_UP, Colour.RED),
        ({"changed": True, "pipeline_class": "windowed"}, CAUGHT_UP, Colour.YELLOW),
        ({"kept": kept(timedelta(seconds=999))}, 4, Colour.YELLOW),
    ],
)
def test_one_thing_is_not(changes: dict[str, Any], question: int, colour: Colour) -> None:
    report = answer(exercise(**changes))
    assert colours(report)[question] is colour
    assert report.colour is colour


def test_a_drill_of_many_records_tells_how_fast_it_goes_on() -> None:
    many = {"plan": plan(first=99_800), "accounted": 100_000}
    assert answer(exercise(**many, kept=kept(timedelta(seconds=4)))).recovery.colour is Colour.RED
    assert answer(exercise(**many, kept=kept(timedelta(seconds=6)))).recovery.colour is Colour.GREEN


@pytest.mark.parametrize("same_code", [False, None])
def test_other_code_may_give_other_rows(same_code: bool | None) -> None:
    assert answer(exercise(changed=True, same_code=same_code)).colour is Colour.GREEN


def test_without_a_class_nobody_knows_how_long_is_too_long() -> None:
    report = answer(exercise(kept=kept(classified=False)))
    assert colours(report)[BACK] is Colour.YELLOW
    assert colours(report)[4] is Colour.YELLOW


def test_what_failed_is_named() -> None:
    report = answer(exercise(accepted=False, checks={"keys": "failed", "nulls": "passed", "counts": "failed"}))
    assert "failed: keys, counts" in report.answers[CAUGHT_UP].words
