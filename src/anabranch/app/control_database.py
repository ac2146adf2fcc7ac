"""Decides which control database a project uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.project.load import LoadedProject
from anabranch.project.location import state_folder

if TYPE_CHECKING:
    from sqlalchemy import URL

DATABASE_FILE = "anabranch.db"


def control_database_url(loaded: LoadedProject) -> URL:
    """The URL of the context's control database: a SQLite file in the project's state folder, or PostgreSQL."""
    from sqlalchemy import URL, make_url

    settings = loaded.settings.database
    if settings.embedded:
        return URL.create("sqlite", database=str(state_folder(loaded.folder) / DATABASE_FILE))
    url = make_url(settings.url).set(drivername="postgresql+psycopg")
    if settings.password is not None:
        url = url.set(password=settings.password.reveal())
    tls = {"sslmode": settings.ssl_mode, "sslrootcert": settings.ca_file}
    return url.update_query_dict({key: value for key, value in tls.items() if value})
