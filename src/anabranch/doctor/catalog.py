"""The catalog: whether a table can be written there, and whether a branch of it is really kept."""

from __future__ import annotations

from anabranch.doctor.finding import Finding, green, red, yellow
from anabranch.wiring.workplace import Workplace


def catalog(workplace: Workplace, unique: str) -> Finding:
    from anabranch.adapters.iceberg.trial import try_out

    settings = workplace.loaded.settings.catalog
    place = str(workplace.state) if settings.type == "embedded" else str(settings.uri)
    trial = try_out(workplace.catalog, unique)
    if not trial.branch_kept:
        says = f"{settings.name} ({settings.type}, {place}) takes a branch and forgets it"
        return red("catalog", says, "use a catalog that keeps Iceberg branches: replays are staged on one")
    if trial.left_behind:
        left = ", ".join(trial.left_behind)
        return yellow("catalog", f"{settings.name} works, but this could not be cleared away: {left}", f"drop {left}")
    return green("catalog", f"{settings.name} ({settings.type}, {place}): tables are written and branches kept")
