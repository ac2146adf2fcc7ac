"""Where a project is, and where it keeps what is its own."""

from __future__ import annotations

from pathlib import Path

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode

PROJECT_FILE = "anabranch.yaml"
STATE_FOLDER = ".anabranch"


class ProjectNotFoundError(AnabranchError):
    code = "project.not-found"
    exit_code = ExitCode.USAGE


def find_project_folder(start: Path) -> Path:
    """The nearest folder that holds anabranch.yaml, from `start` upwards."""
    folder = start.resolve()
    for candidate in (folder, *folder.parents):
        if (candidate / PROJECT_FILE).is_file():
            return candidate
    raise ProjectNotFoundError(
        f"There is no {PROJECT_FILE} in {folder} or any folder above it.",
        state=NOTHING_CHANGED,
        hint="`anabranch init DIR` makes a project; or name one with `--project DIR`",
        start=str(folder),
    )


def state_folder(project: Path) -> Path:
    """What belongs to one project on this machine: brokers, catalog, database, logs. Never committed."""
    return project / STATE_FOLDER
