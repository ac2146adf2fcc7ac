"""When the database fails: a clear error, no password in it, and nothing half done."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import URL, event, text
from tests.conformance.run_store.scene import submitted
from tests.fixtures.postgres import PostgresServer

from anabranch.adapters.sql import errors
from anabranch.adapters.sql.engine import StoreUrlError, writing
from anabranch.adapters.sql.migrate import migrate, schema_version_at
from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.errors import AnabranchError

CANARY = "hunter2-canary"


def everything_said(error: BaseException) -> str:
    """All that a user or a log may get to see of an error: its data, its causes, its traceback."""
    said = "".join(traceback.format_exception(error)) + repr(error)
    return said + str(error.as_dict()) if isinstance(error, AnabranchError) else said


@pytest.fixture
def migrated(postgres_database: URL) -> URL:
    migrate(postgres_database)
    return postgres_database


@pytest.fixture
def guarded_user(postgres_server: PostgresServer) -> Iterator[str]:
    """A user who has to give a password, which the superuser of the tests need not."""
    access = postgres_server.data_folder / "pg_hba.conf"
    before = access.read_text()
    # Written in place: the file stays the server's own.
    access.write_text("local all guarded scram-sha-256\n" + before)
    postgres_server.execute(sql.SQL("SELECT pg_reload_conf()"))
    postgres_server.execute(sql.SQL("CREATE ROLE guarded LOGIN PASSWORD {}").format(sql.Literal(CANARY)))
    yield "guarded"
    postgres_server.execute(sql.SQL("DROP ROLE guarded"))
    access.write_text(before)
    postgres_server.execute(sql.SQL("SELECT pg_reload_conf()"))


def test_a_wrong_password_is_told_and_not_shown(migrated: URL, guarded_user: str) -> None:
    with pytest.raises(errors.StoreUnreachableError, match="cannot be reached") as refused:
        open_store(migrated.set(username=guarded_user, password=CANARY + "-wrong"))
    assert "password authentication failed" in str(refused.value.cause)
    assert CANARY not in everything_said(refused.value)


def test_a_user_without_rights_is_told_so(migrated: URL, guarded_user: str) -> None:
    with pytest.raises(errors.StoreRefusedError, match="denied this operation") as refused:
        open_store(migrated.set(username=guarded_user, password=CANARY))
    assert CANARY not in everything_said(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ada:{CANARY}@127.0.0.1:1/anabranch?connect_timeout=2",
        f"postgresql://ada:{CANARY}@/anabranch?host=/nowhere",
        f"postgresql+psycopg2://ada:{CANARY}@127.0.0.1:1/anabranch",
    ],
)
def test_a_server_that_is_not_there(url: str) -> None:
    for attempt in (open_store, migrate, schema_version_at):
        with pytest.raises(errors.StoreUnreachableError) as refused:
            attempt(url)
        assert "ada:***@" in refused.value.what
        assert CANARY not in everything_said(refused.value)


def test_a_database_that_is_not_there(postgres_server: PostgresServer) -> None:
    with pytest.raises(errors.StoreUnreachableError) as refused:
        open_store(postgres_server.url.set(database="nowhere"))
    assert 'database "nowhere" does not exist' in str(refused.value.cause)


@pytest.mark.parametrize(
    "url",
    [
        "",
        f"ada:{CANARY}@host",
        f"postgresql://ada:{CANARY}@host:port/db",
        f"mysql://ada:{CANARY}@host/db",
        f"nonsense+x://ada:{CANARY}@host/db",
        "sqlite://",
        "sqlite:///:memory:",
    ],
)
def test_a_url_that_means_nothing_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(StoreUrlError) as refused:
        open_store(url)
    assert CANARY not in everything_said(refused.value)


def break_own_connection(store: SqlRunStore) -> None:
    with writing(store.engine) as connection:
        pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        with psycopg.connect(store.engine.url.set(drivername="postgresql").render_as_string(False)) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
        connection.execute(text("SELECT 1"))


def test_a_broken_connection_is_told_and_the_next_call_works(migrated: URL) -> None:
    with open_store(migrated) as store:
        with pytest.raises(errors.StoreUnreachableError):
            break_own_connection(store)
        assert submitted(store).id == "r1"


def test_a_read_only_postgresql(migrated: URL, postgres_server: PostgresServer) -> None:
    postgres_server.execute(
        sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(
            sql.Identifier(migrated.database or "")
        )
    )
    with open_store(migrated) as store:
        with pytest.raises(errors.StoreReadOnlyError):
            submitted(store)
        assert store.reader.runs() == []


def test_a_full_postgresql_undoes_the_whole_change(migrated: URL) -> None:
    with open_store(migrated) as store:
        with writing(store.engine) as connection:
            connection.execute(
                text(
                    """CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
                       $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = 'disk_full'; END $$"""
                )
            )
            connection.execute(
                text("CREATE TRIGGER full_disk BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION full_disk()")
            )
        with pytest.raises(errors.StoreFullError, match="is full"):
            submitted(store)
        assert store.reader.runs() == []


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "anabranch.db"
    migrate(f"sqlite:///{path}")
    return path


def test_a_read_only_sqlite(file: Path) -> None:
    with open_store(f"sqlite:///file:{file}?mode=ro&uri=true") as store:
        with pytest.raises(errors.StoreReadOnlyError):
            submitted(store)
        assert store.reader.runs() == []


def fill(store: SqlRunStore) -> None:
    for number in range(1000):
        store.writer.record_act("test.act", actor="ada", details={"padding": "x" * 9000, "number": number})


def test_a_full_sqlite_undoes_the_whole_change_and_works_again_with_room(file: Path) -> None:
    with open_store(f"sqlite:///{file}") as store:
        submitted(store)

        def no_room(connection: object, _record: object) -> None:
            connection.execute("PRAGMA max_page_count = 1")  # type: ignore[attr-defined]

        store.engine.dispose()
        event.listen(store.engine, "connect", no_room)
        with pytest.raises(errors.StoreFullError, match="is full"):
            fill(store)
        event.remove(store.engine, "connect", no_room)
        store.engine.dispose()
        assert store.reader.verify_audit().intact
        store.writer.record_act("test.act", actor="ada")
        assert store.reader.verify_audit().intact


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(errors.StoreUnreachableError, match="cannot be opened"):
        open_store(f"sqlite:///{tmp_path}/nowhere/anabranch.db")


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("dear diary " * 100)
    with pytest.raises(errors.StoreDamagedError):
        open_store(f"sqlite:///{other}")
    assert other.read_text().startswith("dear diary")


def test_a_damaged_file(file: Path) -> None:
    with file.open("r+b") as raw:
        raw.seek(4096)
        raw.write(os.urandom(file.stat().st_size - 4096))
    with pytest.raises(errors.StoreError), open_store(f"sqlite:///{file}") as store:
        submitted(store)


def test_a_database_kept_locked_is_told_as_busy(file: Path) -> None:
    with open_store(f"sqlite:///{file}") as holding, open_store(f"sqlite:///{file}") as waiting:

        def impatient(connection: object, _record: object) -> None:
            connection.execute("PRAGMA busy_timeout = 50")  # type: ignore[attr-defined]

        waiting.engine.dispose()
        event.listen(waiting.engine, "connect", impatient)
        with writing(holding.engine), pytest.raises(errors.StoreBusyError):
            submitted(waiting)
        assert submitted(waiting).id == "r1"
