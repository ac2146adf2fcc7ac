"""The control database: whether it answers, and whether its schema is the one this Anabranch knows."""

from __future__ import annotations

from pathlib import Path

from anabranch.doctor.finding import Finding, green, red, yellow
from anabranch.wiring.workplace import Workplace


def database(workplace: Workplace) -> Finding:
    from anabranch.adapters.sql.migrate import is_current
    from anabranch.adapters.sql.version import Standing
    from anabranch.wiring.control_database import control_database_url

    url = control_database_url(workplace.loaded)
    shown = url.render_as_string(hide_password=True)
    embedded = workplace.loaded.settings.database.embedded
    if embedded and not Path(url.database or "").exists():  # looking at a SQLite file that is not there would make it
        return yellow("database", f"{shown} is not there yet", "nothing to do: the first run makes it")
    version = is_current(url)
    match version.standing:
        case Standing.CURRENT:
            return green("database", f"{shown} has schema {version.found}")
        case Standing.ABSENT:
            return yellow("database", f"{shown} answers and has no schema yet", "nothing to do: the first run makes it")
        case Standing.BEHIND:
            says = f"{shown} has schema {version.found}, and this Anabranch wants {version.wanted}"
            return yellow("database", says, "nothing to do: the next command that opens it upgrades it")
        case Standing.NEWER:
            says = f"{shown} has schema {version.found}, newer than {version.wanted}"
            return red("database", says, "install the newer Anabranch that the others use")
