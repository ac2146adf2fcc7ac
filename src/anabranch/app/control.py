"""The control of a backfill: the code that wrote production, found when planning and replayed beside the fix."""

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
    """The contract with a control, if the command asks for one: so that the recorded contract has it."""
    if not wanted or backfill.spec.control is not None:
        return backfill
    return backfill.model_copy(update={"spec": backfill.spec.model_copy(update={"control": Control()})})


def pin_control(project_context: ProjectContext, request: BackfillRequest, plan: Plan, tables: Catalog) -> str | None:
    """The digest of the control's code; None: no control was requested. Raises if it can't be compared."""
    wanted = request.backfill.spec.control
    if wanted is None:
        return None
    code = control_code(wanted.code, plan, lambda: code_versions(tables.load_table(plan.target.table), plan))
    kept = CodeStore.below(project_context.state, plan.pipeline).load(code)
    late = find_late_imports(kept.folder, kept.pipeline)
    as_stream = plan.stream is not None
    require_comparable(kept.pipeline, request.pipeline, late, everything=request.everything, as_stream=as_stream)
    return kept.digest
