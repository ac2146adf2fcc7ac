"""From which snapshots staging has grown by nothing but catching up with live."""

from __future__ import annotations

from anabranch.replay.staging import StagingCommit, grown_from

ROOT, TAKEN_OUT = 1, StagingCommit(2, None)
PLANNED = (TAKEN_OUT, StagingCommit(3, "s00000"), StagingCommit(4, "s00001"))
CAUGHT_UP = (StagingCommit(5, "live-77"), StagingCommit(6, "live-78-s00000"))


def test_what_was_replayed_last_and_all_that_was_caught_up_since() -> None:
    assert grown_from(ROOT, PLANNED) == {4}
    assert grown_from(ROOT, (*PLANNED, *CAUGHT_UP)) == {4, 5, 6}


def test_a_commit_of_somebody_else_cuts_off_what_came_before_it() -> None:
    assert grown_from(ROOT, (*PLANNED, StagingCommit(9, None))) == {9}
    assert grown_from(ROOT, (*PLANNED, CAUGHT_UP[0], StagingCommit(9, None), CAUGHT_UP[1])) == {9, 6}


def test_a_plan_that_read_nothing_is_its_root() -> None:
    assert grown_from(ROOT, ()) == {ROOT}
    assert grown_from(ROOT, CAUGHT_UP) == {ROOT, 5, 6}
