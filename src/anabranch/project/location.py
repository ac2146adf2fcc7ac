"""Finds a project's folder, and its folder for local state."""

from __future__ import annotations

from pathlib import Path

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode

PROJECT_FILE = "anabranch.yaml"
STATE_FOLDER = ".anabranch"


class ProjectNotFoundError(AnabranchError):
    code = "project.not-found"
    exit_code = ExitCode.USAGE


def find_project_folder(start: Path) -> Path:
    """The nearest folder with anabranch.yaml, from `start` upwards. Raises ProjectNotFoundError."""
    folder = start.resolve()
    for candidate in (folder, *folder.parents):
        if (candidate / PROJECT_FILE).is_file():
            return candidate
    raise ProjectNotFoundError(
        f"No {PROJECT_FILE} in {folder} or any folder above it.",
        state=NOTHING_CHANGED,
        command="anabranch init DIR",
        hint="create a project, or pass --project DIR for an existing one",
        start=str(folder),
    )


def state_folder(project: Path) -> Path:
    """The project's local state on this machine: brokers, catalog, database, logs. Never committed."""
    return project / STATE_FOLDER
