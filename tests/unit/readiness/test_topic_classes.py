"""Which class a topic is of, and how long that class wants its records kept."""

from __future__ import annotations

from datetime import timedelta

import pytest

from anabranch.project.sections.topic_classes import TopicClasses
from anabranch.readiness.topic_classes import USUAL, TopicClass, classify

CLASSES = TopicClasses.model_validate(
    {
        "audit": {"topics": ["bank.*"]},
        "view-source": {"topics": ["shop.*", "*"], "detect": "3d", "replay": "6h"},
        "experiment": {"topics": ["shop.try-*", "shop.order?", "shop.orders"]},
        "telemetry": {"topics": ["shop.orders*"]},
    }
)


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("shop.orders", TopicClass.EXPERIMENT),  # written out, though shop.orders* fits as well
        ("shop.orders-2", TopicClass.TELEMETRY),
        ("shop.orderX", TopicClass.EXPERIMENT),
        ("shop.try-it", TopicClass.EXPERIMENT),  # more precise than shop.*
        ("shop.payments", TopicClass.VIEW_SOURCE),
        ("bank.moves", TopicClass.AUDIT),
        ("Bank.moves", TopicClass.VIEW_SOURCE),  # names differ by case
    ],
)
def test_the_most_precise_pattern_counts(topic: str, expected: TopicClass) -> None:
    found = classify(topic, CLASSES)
    assert found is not None
    assert found.topic_class is expected


def test_no_pattern_no_class() -> None:
    assert classify("shop.orders", TopicClasses()) is None


def test_a_project_changes_the_times_it_names_and_no_others() -> None:
    found, usual = classify("shop.payments", CLASSES), USUAL[TopicClass.VIEW_SOURCE]
    assert found is not None
    assert found.needs.detect == timedelta(days=3)
    assert found.needs.replay == timedelta(hours=6)
    assert (found.needs.diagnose, found.needs.fix) == (usual.diagnose, usual.fix)
    assert found.needs.total == timedelta(days=3, hours=6) + usual.diagnose + usual.fix


def test_what_must_be_provable_is_kept_longest() -> None:
    ordered = [USUAL[each].total for each in TopicClass]
    assert ordered == sorted(ordered, reverse=True)
