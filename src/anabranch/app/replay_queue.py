"""The replay budget of a project, for the commands."""

from __future__ import annotations

from typing import Any

from anabranch.adapters.sql.store import SqlRunStore
from anabranch.app.project_context import ProjectContext
from anabranch.app.replay_holds import budget_board, configured_budget
from anabranch.replay.budget_board import BudgetView
from anabranch.replay.budget_document import budget_document, run_entry


def queue_document(project_context: ProjectContext, store: SqlRunStore) -> dict[str, Any] | None:
    """None: the context has no budget."""
    view = budget_view(project_context, store)
    return None if view is None else budget_document(project_context.loaded.context, view)


def queue_entry(project_context: ProjectContext, store: SqlRunStore, run_id: str) -> dict[str, Any] | None:
    """The run's share or its place; None: it takes no part in a budget now."""
    view = budget_view(project_context, store)
    return None if view is None else run_entry(view, run_id)


def budget_view(project_context: ProjectContext, store: SqlRunStore) -> BudgetView | None:
    """None: the context has no budget."""
    budget = configured_budget(project_context)
    return None if budget is None else budget_board(store).view(project_context.loaded.context, budget)
