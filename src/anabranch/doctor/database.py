"""Control database: whether it answers, and its schema version."""

from __future__ import annotations

from pathlib import Path

from anabranch.app.project_context import ProjectContext
from anabranch.doctor.finding import DoctorFinding, green, red, yellow


def database(project_context: ProjectContext) -> DoctorFinding:
    from anabranch.adapters.sql.migrate import schema_version_at
    from anabranch.adapters.sql.version import SchemaStatus
    from anabranch.app.control_database import control_database_url

    url = control_database_url(project_context.loaded)
    shown = url.render_as_string(hide_password=True)
    embedded = project_context.loaded.settings.database.embedded
    if embedded and not Path(url.database or "").exists():  # connecting would create the SQLite file
        return yellow("database", f"{shown} does not exist yet", "none: the first run creates it")
    version = schema_version_at(url)
    match version.status:
        case SchemaStatus.CURRENT:
            return green("database", f"{shown} has schema {version.found}")
        case SchemaStatus.ABSENT:
            return yellow("database", f"{shown} answers and has no schema yet", "none: the first run creates it")
        case SchemaStatus.BEHIND:
            says = f"{shown} has schema {version.found}; this version of Anabranch needs {version.wanted}"
            return yellow("database", says, "none: the next command that opens it upgrades it")
        case SchemaStatus.NEWER:
            says = f"{shown} has schema {version.found}, newer than {version.wanted}"
            return red("database", says, "upgrade Anabranch to the version that migrated the database")
