"""The target of a plan: the adapter of its table, and live's pause if its promotions need one."""

from __future__ import annotations

import time
from dataclasses import dataclass

from anabranch.adapters.iceberg.table_swap import TableSwapTarget
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.app.project_context import ProjectContext
from anabranch.plan.plan import Plan
from anabranch.promote.run import LivePause


def open_target(project_context: ProjectContext, plan: Plan) -> IcebergTarget:
    kind = TableSwapTarget if plan.strategy.whole_table else IcebergTarget
    return kind(project_context.catalog.open(), plan.target.table)


def live_pause_of(target: IcebergTarget) -> LivePause | None:
    return TablePause(target) if isinstance(target, TableSwapTarget) else None


@dataclass(frozen=True)
class TablePause:
    """A pause that live finds in the table itself."""

    target: TableSwapTarget

    def request(self, run: str, seconds: int) -> None:
        self.target.ask_for_turn(run, round(time.time()) + seconds)

    def release(self, run: str) -> None:
        self.target.give_turn_back(run)
