"""Migrations: an empty database becomes the schema of the code, once, and a newer one is left alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, text
from tests.conformance.run_store.racing import race_processes
from tests.conformance.run_store.scene import submitted

from anabranch.adapters.sql import schema
from anabranch.adapters.sql.engine import make_engine, parse_url, reading, writing
from anabranch.adapters.sql.migrate import alembic_config, migrate, schema_version_at
from anabranch.adapters.sql.migrations.versions import v0001_run_store
from anabranch.adapters.sql.store import StoreAbsentError, open_store
from anabranch.adapters.sql.version import VERSION_TABLE, VERSIONS, SchemaStatus, StoreNewerError
from anabranch.runs.states import INACTIVE


def test_the_versions_the_code_knows_are_the_scripts_in_the_package() -> None:
    scripts = ScriptDirectory.from_config(alembic_config())
    assert tuple(script.revision for script in reversed(list(scripts.walk_revisions()))) == VERSIONS


def test_the_states_that_hold_no_range_are_the_same_in_the_database_and_in_the_code() -> None:
    assert f"({schema.INACTIVE_STATES})" == v0001_run_store.INACTIVE
    assert sorted(each.value for each in INACTIVE) == ["cancelled", "closed", "closing"]


def test_the_migrated_schema_is_the_one_the_code_describes(empty_database: URL) -> None:
    migrate(empty_database)
    engine = make_engine(parse_url(empty_database))
    with reading(engine) as connection:
        assert (
            compare_metadata(
                MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE}), schema.metadata
            )
            == []
        )
    engine.dispose()


def test_an_empty_database_is_absent_then_current_and_migrating_again_changes_nothing(empty_database: URL) -> None:
    assert schema_version_at(empty_database).status is SchemaStatus.ABSENT
    assert migrate(empty_database).status is SchemaStatus.ABSENT
    assert schema_version_at(empty_database).status is SchemaStatus.CURRENT
    assert migrate(empty_database).status is SchemaStatus.CURRENT


def test_opening_an_empty_database_brings_it_up_to_date(empty_database: URL) -> None:
    with open_store(empty_database) as store:
        submitted(store)
    with open_store(empty_database) as store:
        assert [run.id for run in store.reader.runs()] == ["r1"]


def test_looking_creates_nothing(empty_database: URL) -> None:
    with pytest.raises(StoreAbsentError):
        open_store(empty_database, create=False)
    assert schema_version_at(empty_database).status is SchemaStatus.ABSENT
    if empty_database.get_backend_name() == "sqlite":
        assert not Path(str(empty_database.database)).exists()


def test_a_database_of_a_newer_version_is_refused_and_left_alone(empty_database: URL) -> None:
    migrate(empty_database)
    engine = make_engine(parse_url(empty_database))
    with writing(engine) as connection:
        connection.execute(text("UPDATE anabranch_version SET version_num = '9999'"))
    engine.dispose()
    assert schema_version_at(empty_database).status is SchemaStatus.NEWER
    for attempt in (open_store, migrate):
        with pytest.raises(StoreNewerError, match="9999"):
            attempt(empty_database)
    assert schema_version_at(empty_database).found == "9999"


def test_the_migrations_of_another_application_in_the_same_database_are_no_concern(empty_database: URL) -> None:
    engine = make_engine(parse_url(empty_database))
    with writing(engine) as connection:
        connection.execute(text("CREATE TABLE alembic_version (version_num TEXT)"))
        connection.execute(text("INSERT INTO alembic_version VALUES ('theirs')"))
    assert migrate(empty_database).status is SchemaStatus.ABSENT
    with reading(engine) as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all() == ["theirs"]
    engine.dispose()


def test_a_migration_that_fails_leaves_the_database_as_it_was(empty_database: URL) -> None:
    engine = make_engine(parse_url(empty_database))
    with writing(engine) as connection:
        connection.execute(text("CREATE TABLE audit_head (somebody_elses INTEGER)"))
    with pytest.raises(Exception, match="refused a statement"):
        migrate(empty_database)
    with writing(engine) as connection:
        connection.execute(text("DROP TABLE audit_head"))
    engine.dispose()
    assert migrate(empty_database).status is SchemaStatus.ABSENT


OPENING = """
import sys
from anabranch.adapters.sql.store import open_store
from anabranch.adapters.sql import migrate
url, number = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
with open_store(url) as store:
    store.writer.record_act("test.act", actor=f"process-{number}")
print("done")
"""


def test_many_processes_may_open_an_empty_database_at_once(empty_database: URL) -> None:
    assert race_processes(OPENING, empty_database, 4) == ["done\n"] * 4
    with open_store(empty_database) as store:
        verdict = store.reader.verify_audit()
    assert verdict.intact
    assert verdict.head.seq == 4


def test_a_current_database_is_opened_without_the_migration_machinery(database: URL) -> None:
    script = (
        "import sys; from anabranch.adapters.sql.store import open_store; open_store(sys.argv[1]).close();"
        "print([name for name in sys.modules if name.split('.')[0] in ('alembic', 'mako')])"
    )
    shown = database.render_as_string(hide_password=False)
    done = subprocess.run([sys.executable, "-c", script, shown], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_sqlite_database_lets_readers_read_while_one_writes_and_waits_for_the_disk(sqlite_template: Path) -> None:
    engine = make_engine(parse_url(f"sqlite:///{sqlite_template}"))
    with reading(engine) as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    engine.dispose()
    assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 30_000}
