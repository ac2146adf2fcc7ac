"""Builds the gates of one backfill on the project's cluster, catalog and control database."""

from __future__ import annotations

from collections.abc import Callable

from anabranch.adapters.sql.store import SqlRunStore
from anabranch.app.gate_observer import ProjectObserver
from anabranch.app.gate_probes import ProjectProbes
from anabranch.app.project_context import ProjectContext
from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline
from anabranch.gates.collect import GatePolicy, GateService
from anabranch.plan.plan import Plan


def gate_service(
    project_context: ProjectContext,
    store: SqlRunStore,
    plan: Plan,
    contract: Backfill,
    pipeline: Pipeline,
    person: str,
    run: str | None = None,
    say: Callable[[str], object] = lambda _: None,
) -> GateService:
    """Of a run, or with none of a contract that was planned and not submitted."""
    loaded = project_context.loaded
    settings = loaded.settings
    policy = GatePolicy(
        loaded.context, settings.enforces_gates, settings.gates.high_volume, settings.roles, settings.needs_approval
    )
    observer = ProjectObserver(project_context, store, plan, pipeline, run)
    probes = ProjectProbes(project_context, plan, pipeline)
    return GateService(policy, observer, probes, store, plan, contract, pipeline, person, run, say)
