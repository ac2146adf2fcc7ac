"""Brings a database to the present schema, once, however many processes ask for it at the same time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import URL, Connection, Engine, text

from anabranch.adapters.sql.engine import is_missing_file, make_engine, outside_transactions, parse_url, writing
from anabranch.adapters.sql.version import VERSIONS, SchemaStatus, SchemaVersion, StoreNewerError, schema_version

if TYPE_CHECKING:
    from alembic.config import Config

_ADVISORY_LOCK = 0x616E6162
"""Held on PostgreSQL while migrating. Any number does, as long as it never changes."""


def migrate(url: str | URL) -> SchemaVersion:
    """Create or upgrade the schema and return the version it had before. A newer one is refused."""
    engine = make_engine(parse_url(url))
    try:
        return migrate_engine(engine)
    finally:
        engine.dispose()


def is_current(url: str | URL) -> SchemaVersion:
    """Look without touching: `.standing` says whether the schema is current, absent, behind or newer."""
    parsed = parse_url(url)
    if is_missing_file(parsed):
        return SchemaVersion(None, VERSIONS[-1])
    engine = make_engine(parsed)
    try:
        return schema_version(engine)
    finally:
        engine.dispose()


def migrate_engine(engine: Engine) -> SchemaVersion:
    """`migrate` for an engine that is already there."""
    before = schema_version(engine)
    if before.standing is SchemaStatus.NEWER:
        raise StoreNewerError(before, engine.url.render_as_string(hide_password=True))
    if before.standing is SchemaStatus.CURRENT:
        return before
    if engine.dialect.name == "sqlite":
        _set_wal(engine)
    with writing(engine) as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
        # Whoever waited here for another migrator finds the work done: alembic reads the version again.
        _upgrade(connection)
    return before


def _set_wal(engine: Engine) -> None:
    """Let readers go on while one writes. SQLite remembers it in the file, and changes it in no transaction."""
    with outside_transactions(engine) as connection:
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")


def alembic_config() -> Config:
    """Where the migration scripts are: inside the package, with no file of settings."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    return config


def _upgrade(connection: Connection) -> None:
    from alembic import command

    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
