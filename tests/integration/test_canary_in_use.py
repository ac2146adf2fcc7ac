"""The same where secrets really open doors: a PostgreSQL that asks for a password, and a Spark that holds a token."""

from __future__ import annotations

import contextlib
import json
import socket
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from psycopg import sql
from sqlalchemy import URL
from tests.fixtures.canaries import Place, settle
from tests.fixtures.leaks import command_lines, leaked, leaks_below
from tests.fixtures.postgres import PostgresServer
from tests.fixtures.spark import CANARY, SECRET_OPTION, SparkForTests

from anabranch.app.project_context import open_project

pytestmark = pytest.mark.long

USER = "canary_user"
CONTEXT = """\
    team:
      kafka: {{bootstrap: "127.0.0.1:9"}}
      catalog:
        type: jdbc
        uri: jdbc:postgresql://127.0.0.1:{port}/{database}
        warehouse: file://{warehouse}
        username: {user}
        password: ${{env:JDBC_PASSWORD}}
      database:
        url: postgresql://{user}@127.0.0.1:{port}/{database}
        password: ${{env:JDBC_PASSWORD}}
"""


@pytest.fixture
def port(postgres_server: PostgresServer) -> Iterator[int]:
    """A port of the loopback address in front of the server's socket, as a team's database would have."""
    path = Path(str(postgres_server.url.query["host"])) / ".s.PGSQL.5432"

    class Forward(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.socket(socket.AF_UNIX) as server:
                server.connect(str(path))
                back = threading.Thread(target=_copy, args=(server, self.request))
                back.start()
                _copy(self.request, server)
                back.join()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Forward) as forwarder:
        thread = threading.Thread(target=forwarder.serve_forever)
        thread.start()
        yield forwarder.server_address[1]
        forwarder.shutdown()
        thread.join()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    try:
        while chunk := source.recv(1 << 16):
            sink.sendall(chunk)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # one side hung up; the other learns of it by its own next read


@pytest.fixture
def place(postgres_server: PostgresServer, postgres_database: URL, port: int, tmp_path: Path) -> Iterator[Place]:
    """A project whose catalog and control database are in a database that lets nobody in without the password."""
    text = CONTEXT.format(port=port, user=USER, database=postgres_database.database, warehouse=tmp_path / "warehouse")
    settled = settle(tmp_path, text)
    access = postgres_server.data_folder / "pg_hba.conf"
    before = access.read_text()
    access.write_text(f"local all {USER} scram-sha-256\n{before}")
    password = sql.Literal(settled.secrets.values["JDBC_PASSWORD"])
    database = sql.Identifier(postgres_database.database or "")
    postgres_server.execute(sql.SQL("SELECT pg_reload_conf()"))
    postgres_server.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(USER), password))
    postgres_server.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(database, sql.Identifier(USER)))
    yield settled
    postgres_server.drop_database(postgres_database)
    postgres_server.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(USER)))
    access.write_text(before)
    postgres_server.execute(sql.SQL("SELECT pg_reload_conf()"))


def test_a_database_with_a_password(place: Place, postgres_database: URL, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in place.secrets.environment.items():
        monkeypatch.setenv(name, value)
    with open_project(place.project, "team").store() as store:
        store.writer.record_act("test.act", actor="ada", details={"reason": "to have a record"})

    quick = [word for name in ("jars", "memory", "disk", "spark") for word in ("--skip", name)]
    with command_lines() as lines:
        doctor = place.run("--debug", "doctor", "--context", "team", *quick, "-o", "json")
        audit = place.run("--debug", "audit", "verify", "--context", "team")
        records = place.run("audit", "list", "--context", "team", "-o", "json")

    findings = {each["subject"]: each for each in json.loads(doctor.words[doctor.words.index(b"\n{") :])["findings"]}
    assert {name: findings[name]["level"] for name in ("kafka", "catalog", "database")} == {
        "kafka": "red",
        "catalog": "green",
        "database": "green",
    }, "the password was not used"
    assert (audit.code, records.code) == (0, 0), (audit, records)

    canaries = list(place.secrets.values.values())
    assert leaked(doctor.words + audit.words + records.words, canaries) == []
    assert [line for line in lines if leaked(line.encode(), canaries)] == []
    assert leaked(_all_rows(postgres_database), canaries) == []
    for folder in (place.project, place.home, place.project.parent / "warehouse"):
        assert leaks_below(folder, canaries) == {}


def test_a_wrong_password_is_not_shown_either(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Place(place.project, place.home, type(place.secrets)({"JDBC_PASSWORD": "canary-wrong-7d1e55"}, Path()))
    quick = [word for name in ("jars", "memory", "disk", "spark", "kafka") for word in ("--skip", name)]
    for debug in ((), ("--debug",)):
        doctor = wrong.run(*debug, "doctor", "--context", "team", *quick)
        audit = wrong.run(*debug, "audit", "verify", "--context", "team")
        assert (doctor.code, b"password authentication failed" in doctor.words) == (1, True), doctor
        assert audit.code == 1, audit
        assert leaked(doctor.words + audit.words, ["canary-wrong-7d1e55"]) == []


@pytest.mark.spark
def test_a_spark_that_holds_a_token(spark: SparkForTests) -> None:
    context = spark.session.sparkContext
    assert context.getConf().get(SECRET_OPTION) == CANARY, "the token is not there to be found"
    gateway = context._gateway
    assert gateway is not None
    java = psutil.Process(gateway.proc.pid)
    family = [java, *java.children(recursive=True)]
    assert "java" in java.name()
    assert [process for process in family if leaked(_command_line(process), [CANARY])] == []
    assert leaks_below(spark.state, [CANARY]) == {}


def _command_line(process: psutil.Process) -> bytes:
    """As the process list shows it: nothing for a worker that has ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return " ".join(process.cmdline()).encode()
    return b""


def _all_rows(database: URL) -> bytes:
    """Every row of every table, as text."""
    address = database.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(address) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        assert len(tables) > 3
        rows = [
            str(connection.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(name))).fetchall())
            for (name,) in tables
        ]
    return "\n".join(rows).encode()
