"""The strategies, and which of them each class of pipeline supports."""

from __future__ import annotations

from enum import Enum

from anabranch.contract.backfill import WantedStrategy
from anabranch.contract.pipeline import PipelineClass
from anabranch.contract.ranges import Range
from anabranch.plan.refusals import PlanRefusedError
from anabranch.project.quantities import format_moment


class Replaced(Enum):
    """What a promotion replaces."""

    RANGE = "range"
    """Whole time partitions."""
    TABLE = "table"


class Strategy(str, Enum):
    REPLACE_RANGE = "replace-range"
    """Whole time partitions of the target are replaced by the rows of the replayed events."""
    MERGE_FORWARD = "merge-forward"
    """From a snapshot before the damage, all later records up to live's position are merged by key."""
    RERUN_TAIL = "rerun-tail"
    """The same, where each event is folded into the row of its key, so nothing after the damage stays as it is."""
    WINDOWS = "windows"
    """Whole time partitions of windows, each computed from all of its events."""
    STREAM = "stream-faithful"
    """The same partitions, by repeating live's batches from one of its checkpoints, with its rules for late events."""

    @property
    def by_windows(self) -> bool:
        """Whether live must have closed the range before it is replayed."""
        return self in (Strategy.WINDOWS, Strategy.STREAM)

    @property
    def whole_table(self) -> bool:
        return self in (Strategy.MERGE_FORWARD, Strategy.RERUN_TAIL)

    @property
    def replaces(self) -> Replaced:
        """What a promotion replaces: the kind of target that a run needs."""
        return Replaced.TABLE if self.whole_table else Replaced.RANGE


class RangeNotClosedError(PlanRefusedError):
    code = "plan.range-not-closed"


class RangeClosedError(PlanRefusedError):
    code = "plan.range-closed"


class StrategyIllegalError(PlanRefusedError):
    code = "plan.strategy-illegal"


_BY_NAME: dict[WantedStrategy, Strategy] = {"batch-exact": Strategy.WINDOWS, "stream-faithful": Strategy.STREAM}
_LEGAL: dict[PipelineClass, tuple[Strategy, ...]] = {
    "stateless": (Strategy.REPLACE_RANGE,),
    "upsert": (Strategy.MERGE_FORWARD,),
    "windowed": (Strategy.WINDOWS, Strategy.STREAM),
    "ordered": (Strategy.RERUN_TAIL,),
}
_WHY_NOT: dict[PipelineClass, str] = {
    "stateless": "each event becomes its rows on its own",
    "upsert": "a row is the last event of its key, and that event may lie outside the range: "
    "replacing time partitions would bring back older rows or lose newer ones",
    "windowed": "a window belongs to the partition that it begins in",
    "ordered": "a row depends on every earlier event of its key, so an error in the range affects all later rows of "
    "the key",
}


def legal_strategies(pipeline_class: PipelineClass) -> tuple[Strategy, ...]:
    return _LEGAL[pipeline_class]


def choose_strategy(
    pipeline: str, pipeline_class: PipelineClass, range_: Range, wanted: WantedStrategy | None = None
) -> Strategy:
    """The requested strategy, or the default of the class. Raises PlanRefusedError if it does not support the range."""
    strategy, span = _wanted(pipeline, pipeline_class, wanted), range_.event_time
    if span is not None and span.end is None and not strategy.whole_table:
        raise RangeNotClosedError(
            f"The range needs an end: pipeline {pipeline} is of class {pipeline_class} ({_WHY_NOT[pipeline_class]}), "
            "and whole time partitions are replaced.",
            hint=f"write range: {{eventTime: {{from: {format_moment(span.start)}, to: …}}}}",
            pipeline=pipeline,
        )
    if span is not None and span.end is not None and strategy is Strategy.RERUN_TAIL:
        raise RangeClosedError(
            f"Pipeline {pipeline} is of class {pipeline_class}: {_WHY_NOT[pipeline_class]}. "
            f"Rows after {format_moment(span.end)} can't stay as they are.",
            hint=f"write range: {{eventTime: {{from: {format_moment(span.start)}}}}}: "
            "everything after it is replayed too, up to live's position",
            pipeline=pipeline,
            pipeline_class=pipeline_class,
        )
    return strategy


def _wanted(pipeline: str, pipeline_class: PipelineClass, wanted: WantedStrategy | None) -> Strategy:
    legal = legal_strategies(pipeline_class)
    strategy = legal[0] if wanted is None else _BY_NAME[wanted]
    if strategy not in legal:
        raise StrategyIllegalError(
            f"Pipeline {pipeline} is of class {pipeline_class}: {_WHY_NOT[pipeline_class]}. {wanted} "
            "needs class windowed.",
            hint=f"remove spec.strategy: class {pipeline_class} uses {legal[0].value}",
            pipeline=pipeline,
            pipeline_class=pipeline_class,
        )
    return strategy
