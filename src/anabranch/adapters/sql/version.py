"""The schema version of a database, read without loading alembic."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sqlalchemy import Engine, column, inspect, select, table

from anabranch.adapters.sql.engine import reading
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode

VERSION_TABLE = "anabranch_version"
"""Not alembic's default name, which another application in the same database may use."""

VERSIONS = ("0001",)
"""All schema versions this code knows, oldest first: the revisions in migrations/versions (a test compares them)."""


class SchemaStatus(str, Enum):
    CURRENT = "current"
    ABSENT = "absent"
    """The database exists but has no Anabranch schema."""
    BEHIND = "behind"
    NEWER = "newer"
    """Created by a later version of Anabranch."""


@dataclass(frozen=True)
class SchemaVersion:
    found: str | None
    wanted: str

    @property
    def status(self) -> SchemaStatus:
        if self.found is None:
            return SchemaStatus.ABSENT
        if self.found == self.wanted:
            return SchemaStatus.CURRENT
        return SchemaStatus.BEHIND if self.found in VERSIONS else SchemaStatus.NEWER


class StoreNewerError(AnabranchError):
    code = "store.newer"
    exit_code = ExitCode.CONFLICT

    def __init__(self, version: SchemaVersion, shown_url: str) -> None:
        super().__init__(
            f"The control database {shown_url} has schema version {version.found}; "
            f"this version of Anabranch supports versions up to {version.wanted}.",
            state=NOTHING_CHANGED,
            hint="Upgrade Anabranch on this machine to the version that migrated the database",
            found=version.found,
            wanted=version.wanted,
        )


def schema_version(engine: Engine) -> SchemaVersion:
    """The version of the database and the version this code needs."""
    with reading(engine) as connection:
        if not inspect(connection).has_table(VERSION_TABLE):
            return SchemaVersion(None, VERSIONS[-1])
        found = connection.execute(select(column("version_num")).select_from(table(VERSION_TABLE))).scalar_one_or_none()
        return SchemaVersion(found, VERSIONS[-1])
