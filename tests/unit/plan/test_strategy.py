"""Which ways of backfilling are legal for which class, for every class and every range that can be written."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, get_args

import pytest
from tests.unit.plan.world import JUNE

from anabranch.contract.backfill import WantedStrategy
from anabranch.contract.pipeline import PipelineClass
from anabranch.contract.ranges import Range
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.strategies.strategy import Strategy, choose_strategy, legal_strategies
from anabranch.project.quantities import format_moment

CLASSES: tuple[PipelineClass, ...] = get_args(PipelineClass)
START, END = format_moment(JUNE), format_moment(JUNE + timedelta(days=1))
CLOSED = {"eventTime": {"from": START, "to": END}}
OPEN = {"eventTime": {"from": START}}
EVERYTHING = {"everything": True}
BY_WINDOWS = {Strategy.WINDOWS, Strategy.STREAM}
WHOLE_TABLE = {Strategy.MERGE_FORWARD, Strategy.RERUN_TAIL}


def chosen(kind: PipelineClass, span: dict[str, Any], wanted: WantedStrategy | None = None) -> Strategy | str:
    try:
        return choose_strategy("orders", kind, Range.model_validate(span), wanted)
    except PlanRefusedError as refused:
        return refused.code


@pytest.mark.parametrize("kind", CLASSES)
def test_every_class_has_a_way_and_everything_can_always_be_replayed(kind: PipelineClass) -> None:
    assert chosen(kind, EVERYTHING) is legal_strategies(kind)[0]


@pytest.mark.parametrize(
    ("kind", "closed", "opened"),
    [
        ("stateless", Strategy.REPLACE_RANGE, "plan.range-not-closed"),
        ("upsert", Strategy.MERGE_FORWARD, Strategy.MERGE_FORWARD),
        ("windowed", Strategy.WINDOWS, "plan.range-not-closed"),
        ("ordered", "plan.range-closed", Strategy.RERUN_TAIL),
    ],
)
def test_a_range_needs_an_end_or_must_have_none(
    kind: PipelineClass, closed: Strategy | str, opened: Strategy | str
) -> None:
    assert (chosen(kind, CLOSED), chosen(kind, OPEN)) == (closed, opened)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("wanted", get_args(WantedStrategy))
def test_only_windows_can_be_replayed_in_two_ways(kind: PipelineClass, wanted: WantedStrategy) -> None:
    named: dict[str, Strategy] = {"batch-exact": Strategy.WINDOWS, "stream-faithful": Strategy.STREAM}
    expected = named[wanted] if kind == "windowed" else "plan.strategy-illegal"
    assert chosen(kind, EVERYTHING, wanted) == expected
    if kind == "windowed":
        assert chosen(kind, CLOSED, wanted) is named[wanted]
        assert chosen(kind, OPEN, wanted) == "plan.range-not-closed", "in whichever way"


def test_a_refusal_names_the_pipeline_and_what_can_be_written() -> None:
    with pytest.raises(PlanRefusedError) as refused:
        choose_strategy("orders", "ordered", Range.model_validate(CLOSED))
    assert (refused.value.fields["pipeline"], refused.value.fields["pipeline_class"]) == ("orders", "ordered")
    assert START in refused.value.remedy


@pytest.mark.parametrize("strategy", list(Strategy))
def test_a_way_is_by_windows_or_of_the_whole_table_or_by_partitions(strategy: Strategy) -> None:
    assert strategy.by_windows is (strategy in BY_WINDOWS)
    assert strategy.whole_table is (strategy in WHOLE_TABLE)
    assert not (strategy.by_windows and strategy.whole_table)


def test_every_way_is_legal_for_exactly_one_class() -> None:
    legal = [each for kind in CLASSES for each in legal_strategies(kind)]
    assert sorted(legal) == sorted(Strategy)
