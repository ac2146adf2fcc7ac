"""From which heads staging has grown by nothing but catching up with live."""

from __future__ import annotations

from anabranch.replay.staging import StagingCommit, grown_from
from anabranch.runs.heads import Head


def commit(head: str, slice_id: str | None) -> StagingCommit:
    return StagingCommit(Head(head), slice_id)


ROOT, RANGE_REMOVED = Head("1"), commit("2", None)
PLANNED = (RANGE_REMOVED, commit("3", "s00000"), commit("4", "s00001"))
CAUGHT_UP = (commit("5", "live-77"), commit("6", "live-78-s00000"))


def heads(*names: str) -> set[Head]:
    return {Head(name) for name in names}


def test_the_last_replayed_head_and_every_catch_up_since() -> None:
    assert grown_from(ROOT, PLANNED) == heads("4")
    assert grown_from(ROOT, (*PLANNED, *CAUGHT_UP)) == heads("4", "5", "6")


def test_a_commit_of_another_writer_cuts_off_what_came_before_it() -> None:
    assert grown_from(ROOT, (*PLANNED, commit("9", None))) == heads("9")
    assert grown_from(ROOT, (*PLANNED, CAUGHT_UP[0], commit("9", None), CAUGHT_UP[1])) == heads("9", "6")


def test_a_plan_that_read_nothing_is_its_root() -> None:
    assert grown_from(ROOT, ()) == heads("1")
    assert grown_from(ROOT, CAUGHT_UP) == heads("1", "5", "6")
