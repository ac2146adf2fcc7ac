"""The catalog: whether a table can be written there, and whether a branch of it is really kept."""

from __future__ import annotations

from anabranch.app.project_context import ProjectContext
from anabranch.doctor.finding import DoctorFinding, green, red, yellow


def catalog(project_context: ProjectContext, unique: str) -> DoctorFinding:
    from anabranch.adapters.iceberg.catalog_probe import probe_catalog

    settings = project_context.loaded.settings.catalog
    place = str(project_context.state) if settings.type == "embedded" else str(settings.uri)
    trial = probe_catalog(project_context.catalog, unique)
    if not trial.branch_kept:
        says = f"{settings.name} ({settings.type}, {place}) takes a branch and forgets it"
        return red("catalog", says, "use a catalog that keeps Iceberg branches: replays are staged on one")
    if trial.left_behind:
        left = ", ".join(trial.left_behind)
        return yellow("catalog", f"{settings.name} works, but this could not be cleared away: {left}", f"drop {left}")
    return green("catalog", f"{settings.name} ({settings.type}, {place}): tables are written and branches kept")
