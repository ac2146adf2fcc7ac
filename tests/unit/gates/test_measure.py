"""Which evidence is due, where a range is sampled, and which drift matters to the gates."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.unit.gates.facts import HOUR, NOW, evidence

from anabranch.gates.collect import stage_of
from anabranch.gates.facts import LiveReading, read_live, read_metrics
from anabranch.gates.measure import BOUND, MEASURED, PLACES, PROGRESS, due_evidence, sample_places
from anabranch.plan.drift import Stage
from anabranch.runs.states import State


def test_evidence_is_due_if_it_was_never_measured_has_expired_or_was_refused() -> None:
    known = {
        "storage": evidence("storage", {"refused": None}),
        "schema": evidence("schema", {}, age=timedelta(days=2)),
        "rollback": evidence("rollback", {"refused": "no right to commit"}),
    }
    assert due_evidence(MEASURED, known, NOW) == ("compatibility", "schema", "rollback")
    assert due_evidence(("storage",), known, NOW) == ()
    assert due_evidence(("storage",), known, NOW + timedelta(days=1)) == ("storage",)


def test_evidence_of_what_never_changes_is_never_due_again() -> None:
    for_ever = replace(evidence("cost", {}, age=1000 * HOUR), good_until=None)
    assert due_evidence(("cost",), {"cost": for_ever}, NOW) == ()


def test_each_kind_that_gates_measure_has_a_line_of_progress() -> None:
    assert set(PROGRESS) == set(MEASURED) <= set(BOUND)


def test_a_range_is_sampled_at_the_beginning_of_equal_parts() -> None:
    places = sample_places({0: ((0, 40), (100, 140))}, count=4)
    assert places == [{0: (0, 20)}, {0: (20, 40)}, {0: (100, 120)}, {0: (120, 140)}]


def test_a_part_across_a_gap_is_sampled_before_the_gap() -> None:
    assert sample_places({0: ((0, 30), (100, 110))}, count=2) == [{0: (0, 20)}, {0: (20, 30)}]


def test_a_partition_with_fewer_offsets_than_parts_is_sampled_once_for_each_offset() -> None:
    places = sample_places({0: ((5, 8),), 1: ((0, 80),)})
    assert len(places) == PLACES
    assert sorted(each[0] for each in places if 0 in each) == [(5, 6), (6, 7), (7, 8)]
    assert all(1 in each for each in places)


@pytest.mark.parametrize("state", list(State))
def test_every_pinned_input_matters_until_all_slices_are_staged(state: State) -> None:
    reading = state in {State.PLANNED, State.REPLAYING, State.PAUSED, State.FAILED}
    assert stage_of(state) is (Stage.REPLAYING if reading else Stage.STAGED)


def test_lag_is_by_the_group_and_the_table_is_read_only_without_one() -> None:
    def unread() -> dict[int, int]:
        raise AssertionError("the table was read")

    assert read_live({0: 10, 1: 20}, lambda: {0: 4, 1: 25}, unread) == LiveReading(6, "group")
    assert read_live({0: 10}, dict, lambda: {0: 7, 3: 1}) == LiveReading(3, "table")
    assert read_live({0: 10}, dict, dict) == LiveReading(None, None)


def test_metrics_are_looked_for_by_their_whole_name() -> None:
    text = '# HELP lag_records of live\nlag_records_total{pipeline="a"} 3\nrows{table="pipeline",pipeline="a"} 4\n'
    reading = read_metrics("http://h/metrics", text, ("rows", "lag_records"), "a")
    assert reading.names == ("rows",)
    assert reading.missing == ("lag_records",)


def test_metrics_of_another_pipeline_do_not_count() -> None:
    text = 'lag_records{pipeline="ab"} 3\nrows 4\nother{table="pipeline=\\"a\\""} 1\n'
    assert read_metrics("http://h/metrics", text, ("lag_records", "rows", "other"), "a").names == ()
