"""What a plan says of the target's promises: every declared value has its words."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

import pytest

from anabranch.app.targets import capabilities_of
from anabranch.cli.render_plan import capability_words
from anabranch.plan.strategies.strategy import Strategy, legal_strategies
from anabranch.promote.capabilities import HeadCheck, Moves, ReaderView, RowRestore, StreamingReaders

RANGE, TABLE = capabilities_of(Strategy.REPLACE_RANGE), capabilities_of(Strategy.MERGE_FORWARD)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("head_check", HeadCheck),
        ("readers_see", ReaderView),
        ("moves", Moves),
        ("streaming_readers", StreamingReaders),
        ("later_rows", RowRestore),
    ],
)
def test_each_value_has_words_of_its_own(name: str, values: type[Enum]) -> None:
    said = {tuple(capability_words(replace(RANGE, **{name: value}))) for value in values}  # type: ignore[arg-type]
    assert len(said) == len(values)


def test_a_weaker_target_does_not_read_as_a_stronger_one() -> None:
    weak = dict(capability_words(replace(RANGE, atomic=False, former_rows_kept=False)))
    assert "atomic" not in weak["promotion"]
    assert "until the run is closed" not in weak["rollback by"]


def test_only_a_target_that_pauses_live_says_so() -> None:
    assert ("live" in dict(capability_words(RANGE)), "live" in dict(capability_words(TABLE))) == (False, True)


def test_every_class_is_held_by_the_target_of_its_strategies() -> None:
    for each in ("stateless", "upsert", "windowed", "ordered"):
        for strategy in legal_strategies(each):
            assert each in capabilities_of(strategy).classes


def test_the_document_is_plain_values() -> None:
    document = TABLE.document()
    assert (document["head_check"], document["moves"]) == ("exact", "files")
    assert document["classes"] == ["ordered", "upsert"]
