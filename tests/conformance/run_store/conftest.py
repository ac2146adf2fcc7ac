"""The databases that the suite runs over: each test gets a migrated one of its own, of either kind."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import URL, delete, insert
from tests.conformance.run_store.scene import HandClock
from tests.fixtures.postgres import PostgresServer

from anabranch.adapters.sql.engine import make_engine, writing
from anabranch.adapters.sql.migrate import migrate
from anabranch.adapters.sql.schema import audit_head, metadata
from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.runs.audit import GENESIS

BOTH = ("sqlite", "postgresql")


def sqlite_url(file: Path) -> URL:
    return URL.create("sqlite", database=str(file))


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated file with nothing in it, to be copied."""
    file = tmp_path_factory.mktemp("template") / "template.db"
    migrate(sqlite_url(file))
    return file


@pytest.fixture(scope="session")
def shared_postgres_database(postgres_server: PostgresServer) -> URL:
    """A migrated database, emptied before each test: making a new one takes longer than a test does."""
    url = postgres_server.create_database()
    migrate(url)
    return url


def emptied(url: URL) -> URL:
    engine = make_engine(url)
    with writing(engine) as connection:
        for table in reversed(metadata.sorted_tables):
            connection.execute(delete(table))
        connection.execute(insert(audit_head).values(id=1, seq=0, hash=GENESIS))
    engine.dispose()
    return url


@pytest.fixture(params=BOTH)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> URL:
    """A migrated database with nothing in it."""
    if request.param == "sqlite":
        file = tmp_path / "anabranch.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), file)
        return sqlite_url(file)
    return emptied(request.getfixturevalue("shared_postgres_database"))


@pytest.fixture(params=BOTH)
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> URL:
    """A database with no schema; on SQLite not even a file."""
    if request.param == "sqlite":
        return sqlite_url(tmp_path / "anabranch.db")
    url: URL = request.getfixturevalue("postgres_database")
    return url


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


OpenStore = Callable[[], SqlRunStore]


@pytest.fixture
def open_another(database: URL, clock: HandClock) -> Iterator[OpenStore]:
    """Opens the test's database once more, as another operator would."""
    opened: list[SqlRunStore] = []

    def open_one() -> SqlRunStore:
        opened.append(open_store(database, clock))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_another: OpenStore) -> SqlRunStore:
    return open_another()
