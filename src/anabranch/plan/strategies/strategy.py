"""Which ways of backfilling are legal for which class of pipeline, and why the others are not."""

from __future__ import annotations

from enum import Enum

from anabranch.contract.backfill import WantedStrategy
from anabranch.contract.pipeline import PipelineClass
from anabranch.contract.ranges import Range
from anabranch.plan.refusals import PlanRefusedError
from anabranch.project.quantities import format_moment


class Strategy(str, Enum):
    REPLACE_RANGE = "replace-range"
    """Whole time partitions of the target are taken out, and the rows of the replayed events put in."""
    MERGE_FORWARD = "merge-forward"
    """From a state of the table before the damage, all that came after is merged by key, up to where live stands."""
    RERUN_TAIL = "rerun-tail"
    """The same, where each event is folded into the row of its key: nothing after the damage can be left as it is."""
    WINDOWS = "windows"
    """Time partitions as well, of windows: each is computed whole, from every event it is made of."""

    STREAM = "stream-faithful"
    """The same partitions, by live's own batches from a checkpoint of it, with its rules for late events."""

    @property
    def by_windows(self) -> bool:
        """Whether live has written the range for good before it is replayed."""
        return self in (Strategy.WINDOWS, Strategy.STREAM)

    @property
    def whole_table(self) -> bool:
        return self in (Strategy.MERGE_FORWARD, Strategy.RERUN_TAIL)


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
    "windowed": "a window is computed whole, in the partition that it begins in",
    "ordered": "a row depends on every event of its key before it, so whatever is wrong in the range has been carried "
    "into all that followed",
}


def legal_strategies(pipeline_class: PipelineClass) -> tuple[Strategy, ...]:
    return _LEGAL[pipeline_class]


def choose_strategy(
    pipeline: str, pipeline_class: PipelineClass, asked: Range, wanted: WantedStrategy | None = None
) -> Strategy:
    """The one that is wanted, or the first legal one; or a refusal that says why it can't give what was asked for."""
    strategy, span = _wanted(pipeline, pipeline_class, wanted), asked.event_time
    if span is not None and span.end is None and not strategy.whole_table:
        raise RangeNotClosedError(
            f"Pipeline {pipeline} is of class {pipeline_class}: {_WHY_NOT[pipeline_class]}, and time partitions are "
            "replaced. The contract does not say where they end.",
            hint=f"write range: {{eventTime: {{from: {format_moment(span.start)}, to: …}}}}",
            pipeline=pipeline,
        )
    if span is not None and span.end is not None and strategy is Strategy.RERUN_TAIL:
        raise RangeClosedError(
            f"Pipeline {pipeline} is of class {pipeline_class}: {_WHY_NOT[pipeline_class]}. "
            f"What came after {format_moment(span.end)} can't be left as it is.",
            hint=f"write range: {{eventTime: {{from: {format_moment(span.start)}}}}}: "
            "all that follows is replayed too, up to where live stands",
            pipeline=pipeline,
            pipeline_class=pipeline_class,
        )
    return strategy


def _wanted(pipeline: str, pipeline_class: PipelineClass, wanted: WantedStrategy | None) -> Strategy:
    legal = legal_strategies(pipeline_class)
    strategy = legal[0] if wanted is None else _BY_NAME[wanted]
    if strategy not in legal:
        raise StrategyIllegalError(
            f"Pipeline {pipeline} is of class {pipeline_class}: {_WHY_NOT[pipeline_class]}. {wanted} is a way "
            "to replay windows, and it has none.",
            hint=f"leave out spec.strategy: the class {pipeline_class} is replayed by {legal[0].value}",
            pipeline=pipeline,
            pipeline_class=pipeline_class,
        )
    return strategy
