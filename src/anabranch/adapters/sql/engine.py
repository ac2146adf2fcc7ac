"""Opens SQLite or PostgreSQL with explicit transactions and one writer at a time per row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from anabranch.adapters.sql.errors import store_errors
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode

_BUSY_SECONDS = 30
"""How long a SQLite writer waits for the write lock."""

_BEGIN = "anabranch_begin"
"""Execution option: the statement that begins a SQLite transaction."""


class StoreUrlError(AnabranchError):
    code = "store.url"
    exit_code = ExitCode.USAGE


def parse_url(url: str | URL) -> URL:
    """The URL of a SQLite file or a PostgreSQL database with our driver. Raises StoreUrlError for any other."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # No cause: its text may quote the part of the URL that has the password.
        raise _url_error("The database URL is malformed.") from None
    match parsed.get_backend_name():
        case "sqlite" if parsed.database and parsed.database != ":memory:":
            return parsed.set(drivername="sqlite+pysqlite")
        case "sqlite":
            raise _url_error("An in-memory control database would lose every run when the command ends.")
        case "postgresql" | "postgres":
            return parsed.set(drivername="postgresql+psycopg")
        case other:
            raise _url_error(f"The control database must be SQLite or PostgreSQL, not {other}.")


def _url_error(what: str) -> StoreUrlError:
    return StoreUrlError(
        what,
        state=NOTHING_CHANGED,
        hint="Write sqlite:///path/to/file.db or postgresql://user@host/database",
    )


def is_missing_file(url: URL) -> bool:
    """Whether the URL names a SQLite file that does not exist. Connecting would create it."""
    if url.get_backend_name() != "sqlite" or url.database is None or url.database.startswith("file:"):
        return False
    return not Path(url.database).exists()


def make_engine(url: URL) -> Engine:
    """An engine for the URL. Opens no connection yet."""
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, hide_parameters=True, connect_args={"timeout": _BUSY_SECONDS})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    connect_args: dict[str, Any] = {"application_name": "anabranch"}
    if "connect_timeout" not in url.query:
        connect_args["connect_timeout"] = 10
    return create_engine(
        url, hide_parameters=True, pool_pre_ping=True, use_native_hstore=False, connect_args=connect_args
    )


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # Python's driver would begin transactions implicitly, and only for some statements; _begin_sqlite does it.
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")
    # Every commit must reach the disk: without its intent, an act could not be looked up after a power failure.
    connection.execute("PRAGMA synchronous = FULL")


def _begin_sqlite(connection: Connection) -> None:
    begin = connection.get_execution_options().get(_BEGIN, "BEGIN")
    if begin:
        connection.exec_driver_sql(begin)


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """One write transaction; rolled back by any exception."""
    # BEGIN IMMEDIATE takes SQLite's write lock first and waits for it. A transaction that begins as a reader cannot
    # wait later: SQLite fails at once ("database is locked") if its snapshot is out of date.
    with store_errors(engine.url), engine.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"}).begin() as connection:
        yield connection


@contextmanager
def outside_transactions(engine: Engine) -> Iterator[Connection]:
    """For SQLite settings that cannot be changed in a transaction."""
    with store_errors(engine.url), engine.execution_options(**{_BEGIN: ""}).connect() as connection:
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """One transaction that reads a single snapshot of the database."""
    if engine.dialect.name == "postgresql":
        engine = engine.execution_options(isolation_level="REPEATABLE READ")
    with store_errors(engine.url), engine.begin() as connection:
        yield connection
