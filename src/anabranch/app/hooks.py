"""The hooks of a context for one run."""

from __future__ import annotations

from collections.abc import Callable

from anabranch.adapters.hooks import HookProcess
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.app.project_context import ProjectContext
from anabranch.plan.plan import Plan
from anabranch.runs.hooks import Hooks

BEFORE_REPLAY = "Production unchanged. No slice has begun; staged slices are kept."
BEFORE_PROMOTE = "Production unchanged. Staging is kept."


def run_hooks(
    project_context: ProjectContext,
    store: SqlRunStore,
    run_id: str,
    plan: Plan,
    actor: str,
    notice: Callable[[str], object],
) -> Hooks:
    settings = project_context.loaded.settings.hooks

    def secrets() -> dict[str, str]:
        return {name: secret.reveal() for name, secret in settings.environment.items()}

    variables = {
        "ANABRANCH_CONTEXT": project_context.loaded.context,
        "ANABRANCH_RUN": run_id,
        "ANABRANCH_PIPELINE": plan.pipeline,
        "ANABRANCH_TABLE": plan.target.table,
    }
    runner = HookProcess(project_context.folder, settings.timeout.total_seconds(), secrets)
    return Hooks(settings.commands, runner, store.writer, run_id, actor, variables, notice)
