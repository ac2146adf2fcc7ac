"""The control of a backfill: the code that production was made by, found when planning and replayed beside the fix."""

from __future__ import annotations

from pyiceberg.catalog import Catalog

from anabranch.adapters.iceberg.code_versions import code_versions
from anabranch.app.project_context import ProjectContext
from anabranch.contract.backfill import Backfill, Control
from anabranch.contract.code_store import CodeStore
from anabranch.contract.late_imports import find_late_imports
from anabranch.plan.control import control_code, require_comparable
from anabranch.plan.plan import Plan
from anabranch.plan.request import BackfillRequest


def with_control(backfill: Backfill, *, wanted: bool) -> Backfill:
    """The contract as if it asked for a control, where the command does: so the contract on record says it too."""
    if not wanted or backfill.spec.control is not None:
        return backfill
    return backfill.model_copy(update={"spec": backfill.spec.model_copy(update={"control": Control()})})


def pin_control(project_context: ProjectContext, request: BackfillRequest, plan: Plan, tables: Catalog) -> str | None:
    """The digest of the code to replay beside the corrected one, if it can be compared; None: none was asked for."""
    wanted = request.backfill.spec.control
    if wanted is None:
        return None
    code = control_code(wanted.code, plan, lambda: code_versions(tables.load_table(plan.target.table), plan))
    kept = CodeStore.below(project_context.state, plan.pipeline).load(code)
    late = find_late_imports(kept.folder, kept.pipeline)
    as_stream = plan.stream is not None
    require_comparable(kept.pipeline, request.pipeline, late, everything=request.everything, as_stream=as_stream)
    return kept.digest
