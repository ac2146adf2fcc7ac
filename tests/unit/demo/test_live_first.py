"""The pure parts of the demo's comparison of live's latency."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from anabranch.demo.latency import Latency
from anabranch.demo.live_first import (
    HISTORY,
    PATTERNS,
    LoadPhase,
    contract_for,
    drawing,
    governed_settings,
    history,
    rate,
)
from anabranch.demo.orders import PARTITIONS
from anabranch.demo.scene import StoryError


def test_the_history_has_no_two_orders_of_one_id_and_grows_in_time() -> None:
    records = list(history(2 * PATTERNS))
    ids = Counter(json.loads(record.value)["order_id"] for record in records)

    assert len(ids) == 2 * PATTERNS
    assert {record.partition for record in records} == set(range(PARTITIONS))
    assert [record.timestamp for record in records] == sorted(record.timestamp for record in records)
    assert records[0].timestamp == round(HISTORY.timestamp() * 1000)


def test_the_governor_is_set_for_the_first_context() -> None:
    text = governed_settings("contexts:\n    dev:\n      kafka: 1\n    prod:\n")

    assert text.splitlines()[:2] == ["contexts:", "    dev:"]
    assert "      governor:\n        tick: 2s\n" in text
    assert text.endswith("      kafka: 1\n    prod:\n")


def test_a_project_without_the_context_is_refused() -> None:
    with pytest.raises(StoryError, match="no context dev"):
        governed_settings("contexts: {}")


def test_the_terms_become_part_of_the_contract() -> None:
    spec = contract_for("x", {"governor": {"off": "why"}})["spec"]

    assert isinstance(spec, dict)
    assert spec["governor"] == {"off": "why"}
    assert spec["pipeline"] == "orders"


def test_the_rate_counts_from_the_moment_on() -> None:
    read = [(0.0, 0), (10.0, 10_000_000), (11.0, 14_000_000), (12.0, 18_000_000)]

    assert rate(read, 10.0) == pytest.approx(4.0)
    assert rate(read, 12.0) is None


def test_each_phase_is_drawn_beside_live_alone() -> None:
    measured = [
        Latency(second + share, wait)
        for second, wait in ((0, 1.0), (1, 1.0), (2, 4.0), (3, 4.0))
        for share in (0.1, 0.5)
    ]
    phases = [LoadPhase("live alone", 0.0, 2.0), LoadPhase("without the governor", 2.0, 4.0, 40.0)]

    lines = list(drawing(phases, measured))

    assert lines[1].split() == ["live", "alone", "p99", "1.0", "s"]
    assert lines[3] == "without the governor  p99 4.0 s, 4.0 times live alone; replay 40.0 MB/s"
    assert (lines[2], lines[4]) == ("  ▃▃", "  ██")


def test_a_phase_in_which_live_committed_nothing_ends_the_demo() -> None:
    with pytest.raises(StoryError, match="live alone"):
        list(drawing([LoadPhase("live alone", 0.0, 2.0)], []))
