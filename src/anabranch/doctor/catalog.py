"""Catalog: whether a table can be written and a branch of it is stored."""

from __future__ import annotations

from anabranch.app.project_context import ProjectContext
from anabranch.doctor.finding import DoctorFinding, green, red, yellow


def catalog(project_context: ProjectContext, unique: str) -> DoctorFinding:
    from anabranch.adapters.iceberg.catalog_probe import probe_catalog

    settings = project_context.loaded.settings.catalog
    place = str(project_context.state) if settings.type == "embedded" else str(settings.uri)
    probe = probe_catalog(project_context.catalog, unique)
    if not probe.branch_kept:
        says = f"{settings.name} ({settings.type}, {place}) accepts a branch but does not store it"
        return red("catalog", says, "use a catalog that stores Iceberg branches, on which replays are staged")
    if probe.left_behind:
        left = ", ".join(probe.left_behind)
        return yellow("catalog", f"{settings.name} works, but could not be cleaned up: {left}", f"drop {left}")
    return green("catalog", f"{settings.name} ({settings.type}, {place}): tables can be written, branches are stored")
