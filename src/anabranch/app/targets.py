"""The target of a run, by its plan, with what its rollback needs where files alone can't do it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Protocol

from anabranch.adapters.iceberg.later_rows import LaterRows
from anabranch.adapters.iceberg.table_swap import TableSwapTarget
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.app.project_context import ProjectContext
from anabranch.close.closure import ClosingTarget
from anabranch.contract.code import code_digest
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.plan import Plan
from anabranch.plan.strategies.strategy import Replaced, Strategy
from anabranch.promote.approved import StagingHistory
from anabranch.promote.capabilities import Capabilities
from anabranch.promote.history import Author
from anabranch.promote.ports import PromotionTarget
from anabranch.replay.replayer import SliceWriter
from anabranch.replay.staging import StagingTarget
from anabranch.replay.superseded import StrayTarget

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class BackfillTarget(StagingTarget, StrayTarget, StagingHistory, PromotionTarget, ClosingTarget, Protocol):
    """What the rooms require of a target, in the order in which they run."""

    def authors(self, run: str) -> Collection[Author]:
        """The kinds of commits that the run made on production, as far back as history is retained."""


TARGETS: dict[Replaced, type[IcebergTarget]] = {Replaced.RANGE: IcebergTarget, Replaced.TABLE: TableSwapTarget}
"""The implementation for what a run replaces: files of a range, or the whole table."""


def capabilities_of(strategy: Strategy) -> Capabilities:
    """The guarantees of the target of such a run. Reads no table."""
    return TARGETS[strategy.replaces].capabilities


def backfill_target(
    project_context: ProjectContext,
    plan: Plan,
    pipeline: Pipeline,
    spark: Callable[[], SparkSession],
    writer: Callable[[], SliceWriter],
) -> BackfillTarget:
    """Starts nothing: `spark` and `writer` are called only by a rollback that has to write rows again."""
    table = plan.target.table

    def by_merge() -> LaterRows:
        from anabranch.adapters.spark.keyed.merge_rollback import LaterRowsByMerge

        return LaterRowsByMerge(writer(), code_digest(project_context.folder, pipeline), table)

    def of_range() -> LaterRows:
        from anabranch.adapters.spark.write.row_rollback import LaterRowsOfRange

        return LaterRowsOfRange(spark(), project_context.catalog, table)

    replaced = plan.strategy.replaces
    later_rows = {Replaced.RANGE: of_range, Replaced.TABLE: by_merge}[replaced]
    return TARGETS[replaced](project_context.catalog.open(), table, later_rows)
