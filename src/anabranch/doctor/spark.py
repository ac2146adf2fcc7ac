"""Spark: whether it starts with this project's settings and runs a job."""

from __future__ import annotations

import re
import socket

from anabranch.app.project_context import ProjectContext
from anabranch.doctor.finding import DoctorFinding, green, red, yellow

SECONDS = 5.0


def spark(project_context: ProjectContext) -> DoctorFinding:
    from anabranch.adapters.jvm.artifacts import ArtifactCache, locked
    from anabranch.adapters.spark.session.session import stop_spark

    if ArtifactCache().missing(locked("spark")):
        return yellow("spark", "not tested: its jars are not downloaded yet", "anabranch dev fetch")
    master = project_context.loaded.settings.spark.master
    silent = unanswered(master)
    if silent:
        says = f"no Spark master answers at {', '.join(silent)}"
        return red("spark", says, "start the master, or fix spark.master in anabranch.yaml")
    session = project_context.spark("anabranch doctor")
    try:
        rows = session.range(1).count()
        version = session.version
    finally:
        stop_spark(session)
    if rows != 1:
        return red(
            "spark", f"a job over one row counted {rows}", f"read {project_context.state / 'logs' / 'spark.log'}"
        )
    return green("spark", f"Spark {version} on {master} started and ran a job")


def unanswered(master: str, seconds: float = SECONDS) -> list[str]:
    """The addresses of a standalone master if none of them answers, checked because Spark would retry for a minute."""
    addresses = re.findall(r"(?:spark://|,)([^,]+):(\d+)", master) if master.startswith("spark://") else []
    for host, port in addresses:
        try:
            with socket.create_connection((host.strip("[]"), int(port)), seconds):
                return []
        except OSError:
            continue
    return [f"{host}:{port}" for host, port in addresses]
