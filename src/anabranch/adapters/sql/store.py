"""Opens the run store: a reader and a writer over one database, its schema brought up to date."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType

from sqlalchemy import URL, Engine

from anabranch.adapters.sql.engine import is_missing_file, make_engine, parse_url
from anabranch.adapters.sql.reader import SqlRunReader
from anabranch.adapters.sql.version import SchemaStatus, SchemaVersion, StoreNewerError, schema_version
from anabranch.adapters.sql.writer import Clock, SqlRunWriter
from anabranch.errors import NOTHING_CHANGED, AnabranchError


@dataclass(frozen=True)
class SqlRunStore:
    """Both interfaces, and the connections under them, which `close` gives back."""

    engine: Engine
    reader: SqlRunReader
    writer: SqlRunWriter

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
            f"There is no control database at {shown} yet: no run was ever submitted here.",
            state=NOTHING_CHANGED,
            hint="submit a first run with `anabranch apply`",
            url=shown,
        )


def open_store(url: str | URL, clock: Clock | None = None, *, create: bool = True) -> SqlRunStore:
    """Open the store at `url`, creating or upgrading its schema where needed.

    With `create=False` nothing is created: a database that isn't there is an error (for commands that only look).
    """
    parsed = parse_url(url)
    if not create and is_missing_file(parsed):
        raise StoreAbsentError(parsed)
    engine = make_engine(parsed)
    try:
        _bring_up_to_date(engine, schema_version(engine), create)
    except BaseException:
        engine.dispose()
        raise
    return SqlRunStore(engine, SqlRunReader(engine), SqlRunWriter(engine, clock))


def _bring_up_to_date(engine: Engine, version: SchemaVersion, create: bool) -> None:
    match version.standing:
        case SchemaStatus.CURRENT:
            return
        case SchemaStatus.NEWER:
            raise StoreNewerError(version, engine.url.render_as_string(hide_password=True))
        case SchemaStatus.ABSENT if not create:
            raise StoreAbsentError(engine.url)
        case SchemaStatus.ABSENT | SchemaStatus.BEHIND:
            # Imported here alone: the migration machinery costs more than everything else on the way in.
            from anabranch.adapters.sql.migrate import migrate_engine

            migrate_engine(engine)
