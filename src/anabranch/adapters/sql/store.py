"""Opens the run store: a reader and a writer over one database, after migrating its schema."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from types import TracebackType

from sqlalchemy import URL, Engine

from anabranch.adapters.sql.engine import is_missing_file, make_engine, parse_url, reading
from anabranch.adapters.sql.reader import SqlRunReader
from anabranch.adapters.sql.version import SchemaStatus, SchemaVersion, StoreNewerError, schema_version
from anabranch.adapters.sql.writer import Clock, SqlRunWriter, database_time
from anabranch.errors import NOTHING_CHANGED, AnabranchError


@dataclass(frozen=True)
class SqlRunStore:
    """Reader and writer with their connections, which `close` closes."""

    engine: Engine
    reader: SqlRunReader
    writer: SqlRunWriter

    def now(self) -> datetime:
        """The time by which leases expire: PostgreSQL's, or for a SQLite file that of this machine."""
        with reading(self.engine) as connection:
            return database_time(connection, self.writer.clock)

    def close(self) -> None:
        self.engine.dispose()

    def __enter__(self) -> SqlRunStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()


class StoreAbsentError(AnabranchError):
    code = "store.absent"

    def __init__(self, url: URL) -> None:
        shown = url.render_as_string(hide_password=True)
        super().__init__(
            f"No control database at {shown}: no run has been submitted in this project.",
            state=NOTHING_CHANGED,
            hint="`anabranch apply -f CONTRACT` submits the first run and creates the database",
            url=shown,
        )


def open_store(url: str | URL, clock: Clock | None = None, *, create: bool = True) -> SqlRunStore:
    """Open the store at `url`; create or upgrade its schema if needed.

    With `create=False` a missing database raises StoreAbsentError (for commands that only read).
    """
    parsed = parse_url(url)
    if not create and is_missing_file(parsed):
        raise StoreAbsentError(parsed)
    engine = make_engine(parsed)
    try:
        _migrate_if_needed(engine, schema_version(engine), create)
    except BaseException:
        engine.dispose()
        raise
    return SqlRunStore(engine, SqlRunReader(engine), SqlRunWriter(engine, clock))


def _migrate_if_needed(engine: Engine, version: SchemaVersion, create: bool) -> None:
    match version.status:
        case SchemaStatus.CURRENT:
            return
        case SchemaStatus.NEWER:
            raise StoreNewerError(version, engine.url.render_as_string(hide_password=True))
        case SchemaStatus.ABSENT if not create:
            raise StoreAbsentError(engine.url)
        case SchemaStatus.ABSENT | SchemaStatus.BEHIND:
            # Imported only here: alembic takes longer to load than everything else a command needs.
            from anabranch.adapters.sql.migrate import migrate_engine

            migrate_engine(engine)
