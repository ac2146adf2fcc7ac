"""The names of branches and tags: what is made is read back, and nothing else is taken for it."""

from __future__ import annotations

import pytest

from anabranch.adapters.iceberg import refs


@pytest.mark.parametrize("control", [False, True])
def test_the_epoch_of_a_staging_branch_is_read_back(control: bool) -> None:
    for epoch in (1, 9, 10, 123):
        assert refs.staging_epoch(refs.staging_branch("r1", epoch, control=control), "r1", control=control) == epoch


@pytest.mark.parametrize(
    "other",
    [
        "main",
        refs.staging_branch("r1", 3, control=True),
        refs.staging_branch("r10", 3),
        refs.scratch_branch("r1", 3),
        refs.before_tag("r1"),
        refs.after_tag("r1"),
        refs.pause_tag("r1", 3),
        refs.rehearsal_branch("r1"),
        "ab_r1_e3_x",
        "ab_r1_e",
    ],
)
def test_no_other_ref_is_staging_of_the_run(other: str) -> None:
    assert refs.staging_epoch(other, "r1") is None


def test_a_run_id_is_no_pattern() -> None:
    assert refs.staging_epoch("ab_rx1_e3", "r.1") is None


def test_a_pause_is_read_of_any_run_and_removed_of_its_own() -> None:
    tag = refs.pause_tag("20250601-ab_e1", 1020)
    assert refs.paused_until(tag) == 1020
    assert refs.is_pause_tag(tag, "20250601-ab_e1")
    assert not refs.is_pause_tag(tag, "20250601-ab")
    assert refs.paused_until(refs.before_tag("r1")) is None


def test_a_head_is_the_snapshots_number_in_text() -> None:
    assert refs.snapshot_of(refs.head_of(2**62 + 1)) == 2**62 + 1
