"""Opens SQLite or PostgreSQL so that both behave alike: explicit transactions, one writer at a time per row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from anabranch.adapters.sql.faults import told_as_ours
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode

_BUSY_SECONDS = 30
"""How long a SQLite writer waits for another one."""

_BEGIN = "anabranch_begin"
"""The execution option that says how a SQLite transaction begins."""


class StoreUrlError(AnabranchError):
    code = "store.url"
    exit_code = ExitCode.USAGE


def parse_url(url: str | URL) -> URL:
    """A SQLite file or a PostgreSQL database, whichever driver the URL names; anything else is refused."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # The cause is left out on purpose: it may quote the part of the URL that holds the password.
        raise _url_error("The database URL can't be read.") from None
    match parsed.get_backend_name():
        case "sqlite" if parsed.database and parsed.database != ":memory:":
            return parsed.set(drivername="sqlite+pysqlite")
        case "sqlite":
            raise _url_error("A control database in memory would forget every run at the end of the command.")
        case "postgresql" | "postgres":
            return parsed.set(drivername="postgresql+psycopg")
        case other:
            raise _url_error(f"The control database can be SQLite or PostgreSQL, not {other}.")


def _url_error(what: str) -> StoreUrlError:
    return StoreUrlError(
        what,
        state=NOTHING_CHANGED,
        hint="write sqlite:///path/to/file.db or postgresql://user@host/database",
    )


def is_missing_file(url: URL) -> bool:
    """Whether the URL means a SQLite file that isn't there. Connecting would create it, which looking must not."""
    if url.get_backend_name() != "sqlite" or url.database is None or url.database.startswith("file:"):
        return False
    return not Path(url.database).exists()


def make_engine(url: URL) -> Engine:
    """An engine for one of the two; no connection is made yet."""
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
    # Python's driver would begin transactions by itself, late and for some statements only; we begin them.
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")
    # An intent that is lost at a power cut is an act that nobody can look up: every commit reaches the disk.
    connection.execute("PRAGMA synchronous = FULL")


def _begin_sqlite(connection: Connection) -> None:
    begin = connection.get_execution_options().get(_BEGIN, "BEGIN")
    if begin:
        connection.exec_driver_sql(begin)


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """One transaction that changes something; rolled back by any exception."""
    # A writer asks SQLite for the write lock at once and waits for it. Begun as a reader it could not wait later on:
    # SQLite refuses to promote a reader whose view is out of date ("database is locked", without delay).
    with told_as_ours(engine.url), engine.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"}).begin() as connection:
        yield connection


@contextmanager
def outside_transactions(engine: Engine) -> Iterator[Connection]:
    """For the few settings of a SQLite file that no transaction may change."""
    with told_as_ours(engine.url), engine.execution_options(**{_BEGIN: ""}).connect() as connection:
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """One transaction that sees a single state of the database throughout."""
    if engine.dialect.name == "postgresql":
        engine = engine.execution_options(isolation_level="REPEATABLE READ")
    with told_as_ours(engine.url), engine.begin() as connection:
        yield connection
