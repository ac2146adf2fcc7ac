"""Which version of the schema a database has, told without loading the migration machinery."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sqlalchemy import Engine, column, inspect, select, table

from anabranch.adapters.sql.engine import reading
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode

VERSION_TABLE = "anabranch_version"
"""Not alembic's usual name: another application that keeps its schema in the same database may have that."""

VERSIONS = ("0001",)
"""Every schema version this code knows, oldest first: the revisions in migrations/versions. A test compares."""


class SchemaStatus(str, Enum):
    CURRENT = "current"
    ABSENT = "absent"
    """The database is there and has no schema of ours."""
    BEHIND = "behind"
    NEWER = "newer"
    """Written by a later Anabranch."""


@dataclass(frozen=True)
class SchemaVersion:
    found: str | None
    wanted: str

    @property
    def standing(self) -> SchemaStatus:
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
            f"this Anabranch knows versions up to {version.wanted}.",
            state=NOTHING_CHANGED,
            hint="install the newer Anabranch that the others use",
            found=version.found,
            wanted=version.wanted,
        )


def schema_version(engine: Engine) -> SchemaVersion:
    """What the database has, against what this code wants."""
    with reading(engine) as connection:
        if not inspect(connection).has_table(VERSION_TABLE):
            return SchemaVersion(None, VERSIONS[-1])
        found = connection.execute(select(column("version_num")).select_from(table(VERSION_TABLE))).scalar_one_or_none()
        return SchemaVersion(found, VERSIONS[-1])
