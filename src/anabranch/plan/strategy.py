"""Which ways of backfilling are legal for which class of pipeline, and why the others are not."""

from __future__ import annotations

from enum import Enum

from anabranch.contract.pipeline import PipelineClass
from anabranch.plan.refusals import PlanRefusedError


class Strategy(str, Enum):
    REPLACE_PARTITIONS = "replace-partitions"
    """Whole time partitions of the target are taken out, and the rows of the replayed events put in."""
    WINDOWS = "windows"
    """The same for windows: each slice computes its windows whole, from every event they are made of."""


class ClassNotSupportedError(PlanRefusedError):
    code = "plan.class-not-supported"


_LEGAL: dict[PipelineClass, tuple[Strategy, ...]] = {
    "stateless": (Strategy.REPLACE_PARTITIONS,),
    "upsert": (),
    "windowed": (Strategy.WINDOWS,),
    "ordered": (),
}
_WHY_NOT: dict[PipelineClass, str] = {
    "stateless": "",
    "upsert": "a row is the last event of its key, and that event may lie outside the range: "
    "replacing time partitions would bring back older rows or lose newer ones",
    "windowed": "",
    "ordered": "a row depends on every event before it, also on those before the range",
}


def legal_strategies(pipeline_class: PipelineClass) -> tuple[Strategy, ...]:
    return _LEGAL[pipeline_class]


def choose_strategy(pipeline: str, pipeline_class: PipelineClass) -> Strategy:
    """The first legal one, or a refusal that says why there is none."""
    legal = legal_strategies(pipeline_class)
    if legal:
        return legal[0]
    raise ClassNotSupportedError(
        f"Pipeline {pipeline} is of class {pipeline_class}: {_WHY_NOT[pipeline_class]}.",
        next_step="only pipelines of class stateless and windowed can be backfilled by this version; "
        "change the class only if each event really becomes its rows on its own",
        pipeline=pipeline,
        pipeline_class=pipeline_class,
        supported=[name for name, ways in _LEGAL.items() if ways],
    )
