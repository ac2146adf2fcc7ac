"""The catalog that a pipeline's table is in, for commands that make nothing: one that was never used is not made."""

from __future__ import annotations

from pyiceberg.catalog import Catalog

from anabranch.adapters.iceberg.embedded import EmbeddedCatalog
from anabranch.adapters.iceberg.table import TargetMissingError
from anabranch.app.project_context import ProjectContext
from anabranch.contract.pipeline import Pipeline
from anabranch.errors import NOTHING_CHANGED


def was_used(project_context: ProjectContext) -> bool:
    """Whether the catalog can be opened without making it."""
    embedded = EmbeddedCatalog.below(project_context.state)
    return project_context.loaded.settings.catalog.type != "embedded" or embedded.exists()


def target_catalog(project_context: ProjectContext, pipeline: Pipeline) -> Catalog:
    table = pipeline.spec.target.table
    if not was_used(project_context):
        raise TargetMissingError(
            f"Table {table} does not exist: the project's embedded catalog has no table yet.",
            state=NOTHING_CHANGED,
            hint=f"`anabranch live start {pipeline.metadata.name}` creates the table with its first batch",
            table=table,
        )
    return project_context.catalog.open()
