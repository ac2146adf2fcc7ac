"""Migrates a database to the current schema. Safe to call from several processes at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import URL, Connection, Engine, text

from anabranch.adapters.sql.engine import is_missing_file, make_engine, outside_transactions, parse_url, writing
from anabranch.adapters.sql.version import VERSIONS, SchemaStatus, SchemaVersion, StoreNewerError, schema_version

if TYPE_CHECKING:
    from alembic.config import Config

_ADVISORY_LOCK = 0x616E6162
"""Key of the PostgreSQL advisory lock held while migrating. It must never change."""


def migrate(url: str | URL) -> SchemaVersion:
    """Create or upgrade the schema; return its version before. Raises StoreNewerError for a newer one."""
    engine = make_engine(parse_url(url))
    try:
        return migrate_engine(engine)
    finally:
        engine.dispose()


def schema_version_at(url: str | URL) -> SchemaVersion:
    """The schema version of the database at `url`. Reads only: a missing SQLite file is not created."""
    parsed = parse_url(url)
    if is_missing_file(parsed):
        return SchemaVersion(None, VERSIONS[-1])
    engine = make_engine(parsed)
    try:
        return schema_version(engine)
    finally:
        engine.dispose()


def migrate_engine(engine: Engine) -> SchemaVersion:
    """`migrate` for an open engine."""
    before = schema_version(engine)
    if before.status is SchemaStatus.NEWER:
        raise StoreNewerError(before, engine.url.render_as_string(hide_password=True))
    if before.status is SchemaStatus.CURRENT:
        return before
    if engine.dialect.name == "sqlite":
        _set_wal(engine)
    with writing(engine) as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
        # A process that waited for another migration here finds it done: alembic reads the version again.
        _upgrade(connection)
    return before


def _set_wal(engine: Engine) -> None:
    """Let readers continue while one process writes. Stored in the file; cannot be set in a transaction."""
    with outside_transactions(engine) as connection:
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")


def alembic_config() -> Config:
    """Alembic's configuration: the migration scripts are in this package, and there is no settings file."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    return config


def _upgrade(connection: Connection) -> None:
    from alembic import command

    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
