"""The settings of the governor, and what they refuse."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from anabranch.project.model import Surroundings
from anabranch.project.sections.governor import GovernorSettings, PrometheusQuery

URL = "https://prometheus.example.com"
IDLE = {"name": "idle", "query": "min(idle)", "atLeast": 0.3}


def settings(**keys: Any) -> GovernorSettings:
    return GovernorSettings.model_validate(keys, context=Surroundings(Path()))


def test_the_defaults_are_those_of_the_law() -> None:
    found = settings()
    assert found.enabled
    assert (found.tick, found.lag, found.lag_limit) == tuple(timedelta(seconds=each) for each in (5, 10, 30))
    assert (found.lost_hold, found.lost_minimum, found.lost_pause) == (
        timedelta(seconds=15),
        timedelta(seconds=30),
        timedelta(minutes=5),
    )


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"tick": "500ms"}, "between 1 s and 1 min"),
        ({"minimumRate": "50MB"}, "above referenceRate"),
        ({"lag": "40s"}, "above lagLimit"),
        ({"lostHold": "40s"}, "must not decrease"),
        ({"prometheus": {"url": URL, "queries": []}}, "at least 1"),
        ({"prometheus": {"url": "ftp://host", "queries": [IDLE]}}, "https"),
        ({"prometheus": {"url": URL, "queries": [IDLE, IDLE]}}, "used twice"),
        ({"prometheus": {"url": URL, "queries": [{**IDLE, "atMost": 1.0}]}}, "either atMost or atLeast"),
        ({"prometheus": {"url": URL, "queries": [{**IDLE, "atLeast": 0.0}]}}, "at least 0"),
        ({"prometheus": {"url": URL, "token": "secret", "queries": [IDLE]}}, "reference"),
    ],
)
def test_what_makes_no_sense_is_refused(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        settings(**keys)
    assert words in str(refused.value.errors())


@pytest.mark.parametrize(
    ("target", "values", "pressure"),
    [
        ({"atMost": 0.5}, [0.1, 0.6], 1.2),
        ({"atMost": 0.5}, [0.1, float("inf")], 10.0),
        ({"atLeast": 0.3}, [0.9, 0.2], 1.5),
        ({"atLeast": 0.3}, [0.0], 10.0),
        ({"atMost": 0.0}, [0.0], 0.0),
        ({"atMost": 0.0}, [0.0, 1.0], 10.0),
    ],
)
def test_the_worst_series_counts(target: dict[str, float], values: list[float], pressure: float) -> None:
    query = PrometheusQuery.model_validate({"name": "idle", "query": "idle", **target})
    assert query.pressure(values) == pytest.approx(pressure)
