"""Decides which control database a project uses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.project.location import state_folder

if TYPE_CHECKING:
    from sqlalchemy import URL

DATABASE_FILE = "anabranch.db"


def store_url(project_folder: Path) -> URL:
    """The URL of the project's control database: a SQLite file in the project's own state folder."""
    from sqlalchemy import URL

    return URL.create("sqlite", database=str(state_folder(project_folder) / DATABASE_FILE))
